#include "operator/reconcile/decide/running_plan.h"

#include <algorithm>
#include <utility>

#include "core/model/speed_grade.h"

namespace sailor {
namespace {

int grade_on(const UsableNode& node, int gpu) {
  const auto slow = std::ranges::find(node.slow, gpu, &GpuOfGrade::gpu);
  return slow == node.slow.end() ? 0 : slow->grade;
}

void set_grade(UsableNode& node, int gpu, int grade) {
  std::erase_if(node.slow, [&](const GpuOfGrade& slow) { return slow.gpu == gpu; });
  if (grade > 0) node.slow.push_back({gpu, grade});
  std::ranges::sort(node.slow, {}, &GpuOfGrade::gpu);
}

// Gives every GPU of the group the grade of its slowest one, and returns that grade.
int slow_down_group(UsableNode& node, const std::vector<int>& gpus) {
  int slowest = 0;
  for (const int gpu : gpus) slowest = std::max(slowest, std::min(grade_on(node, gpu), kSlowestGrade));
  for (const int gpu : gpus) set_grade(node, gpu, slowest);
  return slowest;
}

}  // namespace

RunningPlan plan_as_it_runs(const Generation& generation, const std::vector<UsableNode>& nodes,
                            const ClusterView& view) {
  RunningPlan running{generation.plan, {}};
  std::vector<UsableNode> used = nodes;
  for (const ReplicaPlacement& placed : generation.placement.replicas) {
    const Slot& slot = generation.slot_of(placed);
    const auto node = std::ranges::find_if(
        used, [&](const UsableNode& candidate) { return !slot.pod.empty() && candidate.pod == slot.pod; });
    if (node == used.end()) continue;
    Stage& stage = running.plan.stages.at(static_cast<std::size_t>(placed.stage));
    Replica& replica = stage.replicas.at(static_cast<std::size_t>(placed.replica));
    replica.pool.grade = slow_down_group(*node, generation.gpus_of(placed));
  }
  if (used != nodes) running.cluster = cluster_of(used, view);
  return running;
}

}  // namespace sailor
