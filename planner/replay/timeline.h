// Timeline: when which nodes can be used, what they cost, and which clusters they make.
#pragma once

#include <map>
#include <vector>

#include "planner/replay/node_lifetimes.h"

namespace sailor {

struct NodeTimes {
  Seconds start;   // from when a node exists until workers can start on it; nodes that exist at time 0 have done so
  Seconds notice;  // how long before its end a node is known to leave; no plan uses it from then on
};

// From this time on, until the next moment, nothing changes.
struct Moment {
  Seconds at;
  int cluster = 0;                     // index into Timeline::clusters
  std::vector<int> nodes;              // the usable nodes, as indices into Timeline::nodes; ascending
  std::vector<int> gpus_of_pools;      // the GPUs that exist, usable or not, by pool; they are paid for
  std::vector<DollarsPerHour> prices;  // per GPU, by pool
};

struct Timeline {
  std::vector<NodeLifetime> nodes;
  std::vector<Moment> moments;         // ascending in time, starting at 0
  std::vector<ClusterState> clusters;  // each once; those that differ in prices differ
  Seconds end;
};

using PricesOfPools = std::map<PoolKey, std::vector<PriceChange>>;

// `cluster` gives the pools, and their prices until the first change.
Timeline timeline_of(const ClusterState& cluster, std::vector<NodeLifetime> nodes, const PricesOfPools& prices,
                     const NodeTimes& times, Seconds end);

}  // namespace sailor
