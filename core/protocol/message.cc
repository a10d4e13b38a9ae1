#include "core/protocol/message.h"

#include <fmt/format.h>

namespace sailor {

Result<nlohmann::json> read_message(std::string_view text, std::string_view message) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("reading {}: it is not a JSON object; see docs/protocol.md", message));
  }
  return json;
}

std::string write_message(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sailor
