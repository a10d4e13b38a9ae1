// ClusterState: the GPUs that one job may use, by pool, with their prices. A plain value that is independent of
// Kubernetes.
#pragma once

#include <optional>
#include <vector>

#include "core/model/accelerator.h"
#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

// The nodes of a pool that have the same number of free GPUs.
struct NodeGroup {
  int free_gpus = 0;
  int count = 0;
  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

struct Pool {
  PoolKey key;
  Region region;
  int gpus_per_node = 0;
  std::vector<NodeGroup> nodes;  // sorted by descending free_gpus, each value once
  DollarsPerHour price_per_gpu;
  bool whole_nodes = false;                            // a job uses all GPUs of a node or none, and pays for all
  std::optional<BytesPerSecond> inter_node_bandwidth;  // a node's NIC; absent: that of the network model
  // The mean time until a node is lost; absent: a day for spot nodes, 150 days for others.
  std::optional<Seconds> node_lifetime;
  friend bool operator==(const Pool&, const Pool&) = default;

  [[nodiscard]] int free_gpus() const;
  [[nodiscard]] Seconds expected_node_lifetime() const;
  // The number of tensor-parallel groups of this size that fit on its nodes. A group never spans nodes.
  [[nodiscard]] int group_capacity(int tensor_parallel) const;
};

struct ClusterState {
  std::vector<Pool> pools;  // ascending key, each key once
  AcceleratorBook accelerators;
  friend bool operator==(const ClusterState&, const ClusterState&) = default;

  [[nodiscard]] const Pool* find(const PoolKey& key) const;
  [[nodiscard]] int free_gpus() const;
};

// Sorts the pools and node groups and merges equal entries, so that equal clusters compare equal in whatever order they
// were read.
ClusterState normalized(ClusterState cluster);

}  // namespace sailor
