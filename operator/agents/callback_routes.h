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
  std::function<bool(const JobKey&)> hinted;         // called for each hint; returns whether the job needs its agents
  std::function<bool(const LeaseQuestion&)> renews;  // returns whether the operator renews the lease
};

std::vector<net::Route> callback_routes(const CallbackHooks& hooks);

}  // namespace sailor
