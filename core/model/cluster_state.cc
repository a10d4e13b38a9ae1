#include "core/model/cluster_state.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/model/check.h"

namespace sailor {
namespace {

std::vector<NodeGroup> merged(const std::vector<NodeGroup>& groups) {
  std::map<std::pair<int, std::vector<int>>, int, std::greater<>> counts;
  for (const NodeGroup& group : groups) counts[{group.free_gpus, group.gpus_of_grades}] += group.count;
  std::vector<NodeGroup> result;
  for (const auto& [gpus, count] : counts) {
    if (gpus.first > 0 && count > 0) result.push_back({gpus.first, count, gpus.second});
  }
  return result;
}

// How many nodes have at least this many free GPUs.
int nodes_with(const std::vector<NodeGroup>& groups, int free_gpus) {
  int count = 0;
  for (const NodeGroup& group : groups) count += group.free_gpus >= free_gpus ? group.count : 0;
  return count;
}

bool contains_nodes(const std::vector<NodeGroup>& whole, const std::vector<NodeGroup>& part) {
  if (whole == part) return true;
  const auto is_mixed = [](const NodeGroup& group) { return group.is_mixed(); };
  if (std::ranges::any_of(whole, is_mixed) || std::ranges::any_of(part, is_mixed)) return false;
  return std::ranges::all_of(part, [&](const NodeGroup& group) {
    return nodes_with(part, group.free_gpus) <= nodes_with(whole, group.free_gpus);
  });
}

}  // namespace

int NodeGroup::gpus_of_all_grades() const {
  return is_mixed() ? std::accumulate(gpus_of_grades.begin(), gpus_of_grades.end(), 0) : free_gpus;
}

int Pool::free_gpus() const {
  int sum = 0;
  for (const NodeGroup& group : nodes) sum += group.free_gpus * group.count;
  return sum;
}

Seconds Pool::expected_node_lifetime() const {
  constexpr Seconds kDay{86'400};
  return node_lifetime.value_or(key.provisioning == Provisioning::kSpot ? kDay : kDay * 150);
}

int Pool::group_capacity(int tensor_parallel) const {
  SAILOR_CHECK(tensor_parallel > 0, "a tensor-parallel group of {} GPUs", tensor_parallel);
  int sum = 0;
  for (const NodeGroup& group : nodes) sum += group.free_gpus / tensor_parallel * group.count;
  return sum;
}

const Pool* ClusterState::find(const PoolKey& key) const {
  const auto found = std::ranges::find(pools, key, &Pool::key);
  return found == pools.end() ? nullptr : &*found;
}

int ClusterState::free_gpus() const {
  int sum = 0;
  for (const Pool& pool : pools) sum += pool.free_gpus();
  return sum;
}

ClusterState normalized(ClusterState cluster) {
  std::ranges::stable_sort(cluster.pools, {}, &Pool::key);
  std::vector<Pool> pools;
  for (Pool& pool : cluster.pools) {
    if (!pools.empty() && pools.back().key == pool.key) {
      pools.back().nodes.insert(pools.back().nodes.end(), pool.nodes.begin(), pool.nodes.end());
    } else {
      pools.push_back(std::move(pool));
    }
  }
  for (Pool& pool : pools) pool.nodes = merged(pool.nodes);
  cluster.pools = std::move(pools);
  return cluster;
}

bool contains(const ClusterState& whole, const ClusterState& part) {
  if (part.accelerators != whole.accelerators) return false;
  return std::ranges::all_of(part.pools, [&](const Pool& pool) {
    const Pool* same = whole.find(pool.key);
    if (same == nullptr || !contains_nodes(same->nodes, pool.nodes)) return false;
    Pool with_our_nodes = *same;
    with_our_nodes.nodes = pool.nodes;
    return with_our_nodes == pool;
  });
}

}  // namespace sailor
