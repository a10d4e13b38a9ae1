// PoolStatus: what the status of a GpuPool says about its nodes and its price.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/model/cluster_view.h"
#include "operator/model/pool_history.h"

namespace sailor {

struct PoolStatus {
  std::int64_t spec_generation = 0;             // the metadata.generation of the GpuPool
  PoolUse use;                                  // zeros if the operator does not use the pool
  std::optional<DollarsPerHour> price_per_gpu;  // absent: the spec cannot be read
  bool is_list_price = false;                   // the spec states no price
  AwaitedNodes awaited;                         // zero pods: no job waits for a node of the pool
  std::optional<PoolRefusal> refusal;           // the last one that a record remembers
  std::optional<NodeHistory> history;           // absent: the pool has had no node that the operator used
  Seconds node_lifetime;                        // expected from the history; zero without one
  std::string message;                          // why the operator does not use the pool, or what its nodes contradict
  friend bool operator==(const PoolStatus&, const PoolStatus&) = default;
};

// The view was made from these GpuPools.
struct PoolStatusInput {
  const ClusterView& view;
  const PoolHistories& histories;
  const std::vector<kube::Object>& gpu_pools;
};

// Returns the statuses by the name of the GpuPool.
std::map<std::string, PoolStatus> pool_statuses(const PoolStatusInput& input);

kube::Json to_json(const PoolStatus& status);

}  // namespace sailor
