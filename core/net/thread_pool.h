// The threads on which all clients and servers of the process work. Included in core/net only.
#pragma once

namespace sailor::net {

// Starts the pool on the first call. Clients and servers call it before they use the library.
void start_thread_pool();

}  // namespace sailor::net
