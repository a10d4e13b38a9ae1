// MessageRates: how fast messages between stages go from one tensor-parallel group to another. All GPUs of both groups
// send and receive their parts at the same time, so a group may be faster than a single GPU.
#pragma once

#include <span>
#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/execution_model.h"
#include "simulator/pool_links.h"

namespace sailor {

// A tensor-parallel group of a pool.
struct MessageEnd {
  int pool = 0;
  int tensor_parallel = 1;
  friend auto operator<=>(const MessageEnd&, const MessageEnd&) = default;
};

class MessageRates {
 public:
  // Covers groups of these sizes. `links` must outlive it.
  MessageRates(const ClusterState& cluster, const NetworkModel& network, const ExecutionModel& execution,
               const PoolLinks& links, std::span<const int> tensor_parallel_sizes);

  [[nodiscard]] Seconds latency(const Link& link) const { return link.latency + latency_; }
  // How long a message occupies the link between two nodes, or the link inside a node. Activations go one way and
  // gradients the other; where the directions differ, this is the slower one.
  [[nodiscard]] Seconds between_nodes(MessageEnd from, MessageEnd to, Bytes message) const;
  [[nodiscard]] Seconds inside_node(MessageEnd from, MessageEnd to, Bytes message) const;
  // The shortest of any message between two nodes that a group of this size sends.
  [[nodiscard]] Seconds least_between_nodes(int tensor_parallel, Bytes message) const;
  // The curve that was measured between these groups; null if none was.
  [[nodiscard]] const BandwidthCurve* curve(MessageEnd from, MessageEnd to) const;
  [[nodiscard]] std::span<const int> tensor_parallel_sizes() const { return sizes_; }

 private:
  void list_distinct();
  [[nodiscard]] std::size_t index_of_size(int tensor_parallel) const;
  [[nodiscard]] std::size_t index_of(MessageEnd from, MessageEnd to) const;
  [[nodiscard]] Seconds one_way(MessageEnd from, MessageEnd to, Bytes message) const;
  [[nodiscard]] double parts(MessageEnd from, MessageEnd to) const;

  const PoolLinks& links_;
  Seconds latency_;
  double share_;
  bool by_group_;
  std::vector<int> sizes_;                     // ascending
  std::size_t ends_;                           // the number of possible ends: pools times sizes
  std::vector<const BandwidthCurve*> curves_;  // [from][to]; empty if the execution model does not need them
  std::vector<std::vector<const BandwidthCurve*>> distinct_;  // [size of the sender]: each curve once
};

}  // namespace sailor
