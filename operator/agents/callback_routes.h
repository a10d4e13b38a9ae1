// The requests that agents send to the operator: hints, which ask it to look at a job now, and lease questions. See
// docs/protocol.md.
#pragma once

#include <functional>
#include <vector>

#include "core/model/ids.h"
#include "core/net/http_server.h"
#include "core/protocol/lease.h"

namespace sailor {

struct CallbackHooks {
  std::function<bool(const JobKey&)> hinted;         // takes note of the hint; returns whether the job needs its agents
  std::function<bool(const LeaseQuestion&)> renews;  // whether the lease is renewed
};

std::vector<net::Route> callback_routes(const CallbackHooks& hooks);

}  // namespace sailor
