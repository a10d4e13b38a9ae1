// Sends the requests of an agent to the operator.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/model/error.h"
#include "trainer/agent/agent_credentials.h"

namespace sailor::trainer {

// Posts the message to a path of core/protocol/endpoints.h and returns the status of the answer. The callback is the
// URL of the operator, with or without a slash at its end; an HTTPS URL needs credentials. Takes kCallbackTimeout at
// most.
Result<int> post_to_operator(const std::string& callback, std::string_view path, const nlohmann::json& message,
                             AgentCredentials* credentials);

}  // namespace sailor::trainer
