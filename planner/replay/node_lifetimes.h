// NodeLifetime: one node of a trace, with its name and the time for which it exists.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "planner/replay/trace.h"

namespace sailor {

inline constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

struct NodeLifetime {
  int pool = 0;  // index into ClusterState::pools
  std::string name;
  int gpus = 0;
  Seconds joins;
  Seconds leaves = kNever;
  friend bool operator==(const NodeLifetime&, const NodeLifetime&) = default;
};

// Returns the nodes of all pools, in the order in which they join. Nodes of pools without a trace exist all the time.
// If a trace names no nodes, a sequence of random numbers that begins with `seed` draws those that leave, each with the
// same probability. A pool never has more nodes than in the cluster.
std::vector<NodeLifetime> node_lifetimes(const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                                         std::uint64_t seed);

// Returns the names of the nodes at a time, separated by spaces, in the order in which they joined.
std::string names_at(const std::vector<NodeLifetime>& nodes, Seconds time);

}  // namespace sailor
