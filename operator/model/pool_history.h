// How the status of a GpuPool stores the history of its nodes, so that it outlives the operator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/model/cluster_state.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"
#include "planner/replan/node_history.h"

namespace sailor {

struct PoolHistory {
  NodeHistory nodes;
  std::int64_t lost = 0;  // the nodes that were lost since this operator has watched the pool
  friend bool operator==(const PoolHistory&, const PoolHistory&) = default;
};

using PoolHistories = std::map<PoolKey, PoolHistory>;

// NodeHistory counts time from the beginning of 1970.
Seconds history_time(Time time);

// The field `history` of the status of a GpuPool.
kube::Json to_json(const NodeHistory& history);

// Returns nothing if the GpuPool has no history, or one that cannot be true. A history that ends after `now`, because
// a clock was set back, ends now.
std::optional<NodeHistory> history_of(const kube::Json& gpu_pool, Time now);

}  // namespace sailor
