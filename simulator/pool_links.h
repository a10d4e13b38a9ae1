// PoolLinks: the link between the nodes of any two pools of a cluster, and the NICs of the nodes.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/network_model.h"
#include "simulator/shared_nodes.h"

namespace sailor {

// The NIC that the GPUs of a node share. Without a rate and a curve it is not a bottleneck: every GPU sends at the rate
// of its link.
struct NodeNic {
  std::optional<BytesPerSecond> rate;   // the rate that the pool declares
  std::optional<BandwidthCurve> curve;  // measured while all GPUs of a node send

  [[nodiscard]] bool is_known() const { return rate || curve; }
  [[nodiscard]] Seconds occupancy(Bytes message) const {
    if (rate) return message / *rate;
    return curve ? message / curve->at(message) : Seconds(0);
  }
};

class PoolLinks {
 public:
  // The cluster must outlive it.
  PoolLinks(const ClusterState& cluster, const NetworkModel& network);

  [[nodiscard]] const Link& between(int pool, int other) const {
    return links_[static_cast<std::size_t>(pool) * pools_ + static_cast<std::size_t>(other)];
  }
  // The time of a message of one megabyte. Callers compare these times to find the slowest of several links.
  [[nodiscard]] Seconds probed(int pool, int other) const {
    return probed_[static_cast<std::size_t>(pool) * pools_ + static_cast<std::size_t>(other)];
  }
  [[nodiscard]] Seconds probed_inside_node(int pool) const { return probed_inside_[static_cast<std::size_t>(pool)]; }
  [[nodiscard]] Seconds probed_nic(int pool) const { return probed_nics_[static_cast<std::size_t>(pool)]; }
  // Returns every different link between nodes once.
  [[nodiscard]] const std::vector<Link>& distinct() const { return distinct_; }
  [[nodiscard]] const Link& inside_node(int pool) const { return inside_nodes_[static_cast<std::size_t>(pool)]; }
  [[nodiscard]] const NodeNic& nic(int pool) const { return nics_[static_cast<std::size_t>(pool)]; }
  // What all GPUs of a node share on the way to a node of a pool in another region.
  [[nodiscard]] const NodeNic& path(int pool, int other) const {
    return paths_[static_cast<std::size_t>(pool) * pools_ + static_cast<std::size_t>(other)];
  }
  // Whether the replicas on a node of the pool share a rate that is known: that of its NIC, or that of a path to
  // another region.
  [[nodiscard]] bool has_shared_rate(int pool) const { return has_shared_rate_[static_cast<std::size_t>(pool)] != 0; }
  // How long a message between nodes of these pools occupies what the replicas of a node share.
  [[nodiscard]] Seconds shared_occupancy(int from, int to, Bytes message) const {
    return std::max({nic(from).occupancy(message), nic(to).occupancy(message), path(from, to).occupancy(message)});
  }
  [[nodiscard]] const SharedNodes& shared_nodes() const { return shared_nodes_; }

 private:
  std::size_t pools_;
  std::vector<Link> links_;
  std::vector<Link> distinct_;
  std::vector<Link> inside_nodes_;
  std::vector<NodeNic> nics_;
  std::vector<NodeNic> paths_;  // between nodes of two pools in different regions
  std::vector<char> has_shared_rate_;
  std::vector<Seconds> probed_;
  std::vector<Seconds> probed_inside_;
  std::vector<Seconds> probed_nics_;
  SharedNodes shared_nodes_;
};

}  // namespace sailor
