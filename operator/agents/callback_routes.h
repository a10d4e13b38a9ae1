// The requests that agents send to the operator: hints, which ask it to look at a job now, and lease questions. See
// docs/protocol.md.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/model/ids.h"
#include "core/net/http_server.h"
#include "core/protocol/hint.h"
#include "core/protocol/lease.h"

namespace sailor {

enum class HintAnswer : std::uint8_t {
  kNeeded,     // the job needs its agents
  kDismissed,  // it does not: it is suspended, has ended, or is being deleted
  kUnknown,    // this operator does not know, so the agent asks again
};

enum class LeaseAnswer : std::uint8_t { kRenewed, kRefused, kUnknown };

struct CallbackHooks {
  std::function<HintAnswer(const Hint&)> hinted;  // called for each hint
  std::function<LeaseAnswer(const LeaseQuestion&)> renews;
};

// An agent that does not show the certificate of the job that it asks about is answered with 403.
std::vector<net::Route> callback_routes(const CallbackHooks& hooks);

}  // namespace sailor
