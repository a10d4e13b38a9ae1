// Sends the requests of an agent to the operator.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/model/error.h"
#include "trainer/agent/agent_credentials.h"

namespace sailor::trainer {

// Posts the message to a path of core/protocol/endpoints.h and returns the HTTP status of the answer, whatever it is.
// Fails if there is no answer. The callback is the URL of the operator, with or without a slash at its end. An HTTPS
// URL needs `credentials`, which may otherwise be null. Takes kCallbackTimeout at most.
Result<int> post_to_operator(const std::string& callback, std::string_view path, const nlohmann::json& message,
                             AgentCredentials* credentials);

}  // namespace sailor::trainer
