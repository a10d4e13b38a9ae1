#include "cli/running_plan.h"

#include <algorithm>
#include <utility>

#include "cli/placed_plan.h"

namespace sailor::cli {
namespace {

// The nodes that the plan uses, with the grades of their GPUs: none for a node that is not slow.
std::vector<SlowNode> used_nodes(const Placement& placement, const ClusterState& healthy, std::vector<SlowNode> slow,
                                 std::vector<SlowNode>& unused) {
  std::vector<SlowNode> used;
  for (const Slot& slot : placement.slots) {
    SlowNode& node = used.emplace_back(SlowNode{slot.pool, {}});
    if (const auto found = std::ranges::find(slow, slot.pool, &SlowNode::pool); found != slow.end()) {
      node.grades = std::move(found->grades);
      slow.erase(found);
      node.grades.resize(static_cast<std::size_t>(healthy.find(slot.pool)->gpus_per_node));
    }
  }
  unused = std::move(slow);
  return used;
}

// Gives every GPU of the group the grade of its slowest one, and returns that grade.
int slow_down_group(SlowNode& node, int first_gpu, int gpus) {
  if (node.grades.empty()) return 0;
  const auto begin = node.grades.begin() + first_gpu;
  const int slowest = std::min(kSlowestGrade, *std::max_element(begin, begin + gpus));
  std::fill(begin, begin + gpus, slowest);
  return slowest;
}

}  // namespace

std::optional<RunningPlan> on_slow_nodes(const Plan& plan, const ClusterState& healthy,
                                         const std::vector<SlowNode>& slow) {
  const auto placement = placed(plan, healthy);
  if (!placement) return std::nullopt;
  std::vector<SlowNode> slowed;
  std::vector<SlowNode> nodes = used_nodes(*placement, healthy, slow, slowed);
  RunningPlan running{plan, {}};
  for (const ReplicaPlacement& placed : placement->replicas) {
    Stage& stage = running.plan.stages[static_cast<std::size_t>(placed.stage)];
    Replica& replica = stage.replicas[static_cast<std::size_t>(placed.replica)];
    replica.pool.grade =
        slow_down_group(nodes[static_cast<std::size_t>(placed.slot)], placed.first_gpu, replica.tensor_parallel);
  }
  std::ranges::copy_if(nodes, std::back_inserter(slowed), [](const SlowNode& node) { return !node.grades.empty(); });
  auto cluster = with_slow_nodes(healthy, slowed);
  if (!cluster) return std::nullopt;
  running.cluster = *std::move(cluster);
  return running;
}

}  // namespace sailor::cli
