// The threads on which all clients and servers of the process work. Included in core/net only.
#pragma once

#include <boost/asio/io_context.hpp>

namespace sailor::net {

// Starts the pool on the first call. Clients call it before they use cpprestsdk, which works on the same threads.
boost::asio::io_context& thread_pool();

}  // namespace sailor::net
