// ClusterState: the GPUs that one job may use, by pool, with their prices. A plain value that is independent of
// Kubernetes.
#pragma once

#include <optional>
#include <vector>

#include "core/model/accelerator.h"
#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

// The nodes of a pool that have the same free GPUs.
struct NodeGroup {
  int free_gpus = 0;
  int count = 0;
  // [grade]: the free GPUs of each node, if this pool does not offer all of them (core/model/slow_nodes.h). The last
  // entry counts those that no pool offers. Empty if the pool offers all.
  std::vector<int> gpus_of_grades = {};
  friend auto operator<=>(const NodeGroup&, const NodeGroup&) = default;

  [[nodiscard]] bool is_mixed() const { return !gpus_of_grades.empty(); }
  // The free GPUs of each node, whether this pool offers them or not.
  [[nodiscard]] int gpus_of_all_grades() const;
};

struct Pool {
  PoolKey key;
  Region region;
  int gpus_per_node = 0;
  std::vector<NodeGroup> nodes;  // in descending order, equal ones merged
  DollarsPerHour price_per_gpu;
  bool whole_nodes = false;                            // a job uses all GPUs of a node or none, and pays for all
  std::optional<BytesPerSecond> inter_node_bandwidth;  // a node's NIC; absent: that of the network model
  // The mean time until a node is lost; absent: a day for spot nodes, 150 days for others.
  std::optional<Seconds> node_lifetime;
  friend bool operator==(const Pool&, const Pool&) = default;

  [[nodiscard]] int free_gpus() const;
  // The free GPUs of the node that has most of them; 0 without nodes.
  [[nodiscard]] int gpus_of_largest_node() const { return nodes.empty() ? 0 : nodes.front().free_gpus; }
  [[nodiscard]] Seconds expected_node_lifetime() const;
  // Whether nobody else uses a GPU of these nodes.
  [[nodiscard]] bool is_whole(const NodeGroup& group) const { return group.gpus_of_all_grades() == gpus_per_node; }
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

// Whether each plan for `part` is one for `whole`, too: the pools of `part` are those of `whole`, with as many nodes or
// fewer. Both are normalized. May say no for nodes of which a pool does not offer all GPUs.
bool contains(const ClusterState& whole, const ClusterState& part);

}  // namespace sailor
