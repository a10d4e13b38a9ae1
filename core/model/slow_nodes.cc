#include "core/model/slow_nodes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/model/check.h"

namespace sailor {
namespace {

// Takes a node whose GPUs are all free and of grade 0 from the pool. Returns false if there is none.
bool take_node(Pool& pool) {
  const auto found = std::ranges::find_if(pool.nodes, [&](const NodeGroup& group) {
    return group.count > 0 && group.free_gpus == pool.gpus_per_node && !group.is_mixed();
  });
  if (found == pool.nodes.end()) return false;
  --found->count;
  return true;
}

Result<std::vector<Pool>> parts_of(ClusterState& cluster, const SlowNode& node) {
  const auto pool = std::ranges::find(cluster.pools, node.pool, &Pool::key);
  if (pool == cluster.pools.end()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no pool {}", to_string(node.pool)));
  }
  if (std::cmp_greater(node.grades.size(), pool->gpus_per_node)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} slow GPUs on a node of pool {}, which has {} GPUs", node.grades.size(),
                            to_string(node.pool), pool->gpus_per_node));
  }
  if (!take_node(*pool)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pool {} has no further free node that could be slow", to_string(node.pool)));
  }
  std::vector<int> grades = node.grades;
  grades.resize(static_cast<std::size_t>(pool->gpus_per_node));
  return pools_of_node(*pool, grades);
}

bool is_of_fastest_gpus(const NodeGroup& group, int grade) {
  const auto& gpus = group.gpus_of_grades;
  return std::all_of(gpus.begin(), gpus.begin() + grade, [](int slower) { return slower == 0; });
}

}  // namespace

std::vector<Pool> pools_of_node(const Pool& pool, const std::vector<int>& grades) {
  std::vector<int> gpus(kUnusableGrade + 1);
  for (const int grade : grades) {
    SAILOR_CHECK(grade >= 0, "a speed grade of {}", grade);
    ++gpus[static_cast<std::size_t>(std::min(grade, kUnusableGrade))];
  }
  const bool is_mixed = std::ranges::count_if(gpus, [](int count) { return count > 0; }) > 1;
  std::vector<Pool> parts;
  for (int grade = 0; grade <= kSlowestGrade; ++grade) {
    const int offered = gpus[static_cast<std::size_t>(grade)];
    if (offered == 0) continue;
    Pool& part = parts.emplace_back(pool);
    part.key.grade = grade;
    part.nodes = {{offered, 1, is_mixed ? gpus : std::vector<int>()}};
  }
  return parts;
}

Result<ClusterState> with_slow_nodes(ClusterState cluster, const std::vector<SlowNode>& slow) {
  std::vector<Pool> parts;
  for (const SlowNode& node : slow) {
    auto of_node = parts_of(cluster, node);
    if (!of_node) return tl::unexpected(std::move(of_node.error()));
    std::ranges::move(*of_node, std::back_inserter(parts));
  }
  std::ranges::move(parts, std::back_inserter(cluster.pools));
  return normalized(std::move(cluster));
}

ClusterState with_equal_gpus(const ClusterState& cluster) {
  ClusterState equal = cluster;
  for (Pool& pool : equal.pools) {
    for (NodeGroup& group : pool.nodes) {
      if (!group.is_mixed()) continue;
      if (!is_of_fastest_gpus(group, pool.key.grade)) group.count = 0;  // another pool has the node
      group.free_gpus = group.gpus_of_all_grades();
      group.gpus_of_grades.clear();
    }
  }
  std::erase_if(equal.pools, [](const Pool& pool) { return pool.free_gpus() == 0; });
  return normalized(std::move(equal));
}

}  // namespace sailor
