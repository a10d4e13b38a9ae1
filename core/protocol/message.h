// Converts the bodies of all messages between operator, agents and workers from and to JSON text.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

// Returns the JSON object in `text`. Returns kInvalidArgument, with the name `message`, if the text is anything else.
Result<nlohmann::json> read_message(std::string_view text, std::string_view message);

// Returns the JSON as one line. Replaces bytes that are not UTF-8, which may come from a foreign error message.
std::string write_message(const nlohmann::json& json);

}  // namespace sailor
