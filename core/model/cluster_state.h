// ClusterState: the GPUs that one job may use, by pool, and what they cost. A value; it knows no Kubernetes.
#pragma once

#include <optional>
#include <vector>

#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

// Nodes of a pool that have the same number of GPUs free.
struct NodeGroup {
  int free_gpus = 0;
  int count = 0;
  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

struct Pool {
  PoolKey key;
  Region region;
  int gpus_per_node = 0;
  std::vector<NodeGroup> nodes;  // descending free_gpus, each number once
  DollarsPerHour price_per_gpu;
  bool whole_nodes = false;                            // a job takes all GPUs of a node or none, and pays for all
  std::optional<BytesPerSecond> inter_node_bandwidth;  // of a node's network card; absent: the network model's figure
  friend bool operator==(const Pool&, const Pool&) = default;

  [[nodiscard]] int free_gpus() const;
  // How many tensor-parallel groups of this size its nodes can hold (a group never leaves a node).
  [[nodiscard]] int group_capacity(int tensor_parallel) const;
};

struct ClusterState {
  std::vector<Pool> pools;  // ascending key, each key once
  friend bool operator==(const ClusterState&, const ClusterState&) = default;

  [[nodiscard]] const Pool* find(const PoolKey& key) const;
  [[nodiscard]] int free_gpus() const;
};

// Sorts and merges equal entries, so that equal worlds compare equal whatever order they were read in.
ClusterState normalized(ClusterState cluster);

}  // namespace sailor
