#include "planner/replay/node_watch.h"

#include <algorithm>
#include <utility>

namespace sailor {

NodeWatch::NodeWatch(const ClusterState& whole, const std::vector<NodeLifetime>& nodes) : nodes_(nodes) {
  for (const Pool& pool : whole.pools) {
    int most_nodes = 0;
    for (const NodeGroup& group : pool.nodes) most_nodes += group.count;
    pools_.push_back({{}, pool.expected_node_lifetime(), pool.gpus_per_node, most_nodes});
  }
}

void NodeWatch::observe(const std::vector<int>& usable, Seconds now) {
  std::vector<int> joined(pools_.size());
  std::vector<int> lost(pools_.size());
  const auto count = [&](const std::vector<int>& all, const std::vector<int>& others, std::vector<int>& by_pool) {
    for (const int node : all) {
      if (std::ranges::binary_search(others, node)) continue;
      ++by_pool[static_cast<std::size_t>(nodes_[static_cast<std::size_t>(node)].pool)];
    }
  };
  count(usable, usable_, joined);
  count(usable_, usable, lost);
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    NodeHistory& history = pools_[i].history;
    history.pass_until(now);
    if (!has_begun_) history.nodes = joined[i];
    if (has_begun_ && joined[i] > 0) history.add_joined(now, joined[i]);
    if (lost[i] > 0) history.add_lost(now, lost[i]);
  }
  has_begun_ = true;
  usable_ = usable;
}

double NodeWatch::failures_per_hour(const std::vector<int>& gpus_of_pools) const {
  return interruptions_per_second(pools_, gpus_of_pools) * outcomes_.unsaved_share() * 3600;
}

}  // namespace sailor
