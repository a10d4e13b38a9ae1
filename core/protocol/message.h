// The text of a message: how every body between operator, agents and workers becomes JSON and back.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

// A JSON object; kInvalidArgument names the message if the text is anything else.
Result<nlohmann::json> read_message(std::string_view text, std::string_view message);

// One line. Bytes that are not UTF-8, such as those of a foreign error message, are replaced.
std::string write_message(const nlohmann::json& json);

}  // namespace sailor
