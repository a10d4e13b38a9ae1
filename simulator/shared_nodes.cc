#include "simulator/shared_nodes.h"

#include <algorithm>
#include <utility>

namespace sailor {
namespace {

// Calls `visit` with the indices of each group of mixed nodes that both pools offer GPUs of.
template <class Visit>
void each_shared_node_group(const Pool& a, const Pool& b, Visit visit) {
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    for (std::size_t j = 0; j < b.nodes.size(); ++j) {
      if (a.nodes[i].is_mixed() && a.nodes[i].gpus_of_grades == b.nodes[j].gpus_of_grades) visit(i, j);
    }
  }
}

}  // namespace

SharedNodes::SharedNodes(const ClusterState& cluster) : cluster_(cluster), groups_(cluster.pools.size()) {
  for (std::size_t pool = 0; pool < cluster.pools.size(); ++pool) {
    const Pool& of = cluster.pools[pool];
    for (std::size_t lower = pool; lower > 0 && cluster.pools[lower - 1].key.is_like(of.key); --lower) {
      each_shared_node_group(of, cluster.pools[lower - 1], [&](std::size_t group, std::size_t same) {
        groups_[pool].push_back({lower - 1, group, same});
        has_any_ = true;
      });
    }
  }
}

bool SharedNodes::share_a_node(int a, int b) const {
  const auto [lower, higher] = std::minmax({static_cast<std::size_t>(a), static_cast<std::size_t>(b)});
  return std::ranges::find(groups_[higher], lower, &Group::lower_pool) != groups_[higher].end();
}

// The operator puts what it can of a job on one node, so a node that could hold the GPUs of two pools does.
void SharedNodes::join_pools_of_a_node(std::size_t lowest, const std::vector<int>& used,
                                       std::vector<int>& node_of_pool) const {
  const std::vector<NodeGroup>& nodes = cluster_.pools[lowest].nodes;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (used[lowest] > nodes[node].free_gpus) continue;
    bool has_joined = false;
    for (std::size_t pool = lowest + 1; pool < groups_.size(); ++pool) {
      const bool fits = std::ranges::any_of(groups_[pool], [&](const Group& shared) {
        return shared.lower_pool == lowest && shared.same_in_lower == node &&
               used[pool] <= cluster_.pools[pool].nodes[shared.group].free_gpus;
      });
      if (!fits || used[pool] == 0) continue;
      node_of_pool[pool] = static_cast<int>(lowest);
      has_joined = true;
    }
    if (has_joined) return;
  }
}

std::vector<int> SharedNodes::node_of_each_pool(const std::vector<int>& used) const {
  std::vector<int> node_of_pool(used.size(), kSeveralNodes);
  for (std::size_t pool = 0; pool < used.size(); ++pool) {
    if (used[pool] <= cluster_.pools[pool].gpus_of_largest_node()) node_of_pool[pool] = static_cast<int>(pool);
  }
  if (!has_any_) return node_of_pool;
  for (std::size_t pool = 0; pool < used.size(); ++pool) {
    if (used[pool] > 0 && std::cmp_equal(node_of_pool[pool], pool)) join_pools_of_a_node(pool, used, node_of_pool);
  }
  return node_of_pool;
}

}  // namespace sailor
