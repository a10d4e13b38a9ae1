// Base64 by OpenSSL.
#pragma once

#include <string>
#include <string_view>

#include "core/model/error.h"

namespace sailor::net {

// Line ends are skipped. kInvalidArgument: the text is not Base64.
Result<std::string> decode_base64(std::string_view text);

std::string encode_base64(std::string_view bytes);  // in one line

}  // namespace sailor::net
