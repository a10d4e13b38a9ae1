#pragma once

#include <string>
#include <string_view>

#include "core/net/http_message.h"

namespace sailor::net {

// Compresses a text of less than 4 GB. Fast rather than small: text that repeats itself gets a twentieth of its length.
std::string gzip(std::string_view text);

// For a client that accepts gzip (HttpCall::accepts_gzip).
HttpAnswer gzipped(HttpAnswer answer);

}  // namespace sailor::net
