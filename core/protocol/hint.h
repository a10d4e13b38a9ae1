// Hint: the message with which an agent asks the operator to look at its job now instead of at the next poll. The
// operator then reads the state from the agents and from the API server. A lost hint therefore costs only time.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/model/error.h"
#include "core/model/ids.h"

namespace sailor {

enum class HintReason {
  kPeerLost,      // a worker is broken, or a pod does not answer the agent
  kTerminating,   // the pod was told to stop
  kWorkerFailed,  // a worker cannot continue, has crashed, or was killed because it did not answer
  kFinished,      // all steps are done
};

std::string_view to_string(HintReason reason);  // "PeerLost", ...

struct Hint {
  JobKey job;
  std::string job_uid;  // empty: the agent has had no assignment, or is older than this field
  std::string agent;
  HintReason reason = HintReason::kPeerLost;
  std::string message;  // one sentence for the log
  friend bool operator==(const Hint&, const Hint&) = default;
};

nlohmann::json to_json(const Hint& hint);
Result<Hint> hint_from_json(const nlohmann::json& json);

// With this message, the operator tells an agent where to send hints and lease questions from now on.
struct CallbackAddress {
  std::string url;
  friend bool operator==(const CallbackAddress&, const CallbackAddress&) = default;
};

nlohmann::json to_json(const CallbackAddress& address);
Result<CallbackAddress> callback_address_from_json(const nlohmann::json& json);

}  // namespace sailor
