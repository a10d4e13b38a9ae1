#include "planner/problem/planning_problem.h"

#include <algorithm>

#include <fmt/format.h>

namespace sailor {
namespace {

bool keeps_to_pool(const GroupedPlan& plan, int index, const Pool& pool) {
  const std::vector<GroupsOfSize> groups = groups_of_pool(plan.stages, index);
  int gpus = 0;
  for (const GroupsOfSize& group : groups) gpus += group.size * group.count;
  if (gpus > pool.free_gpus()) return false;
  const bool is_simple = std::ranges::all_of(groups, [](const GroupsOfSize& group) { return group.size == 1; });
  return is_simple || pack_groups(pool, groups).left_over == 0;
}

bool keeps_to_one_region(const GroupedStage& stage, const PlanningProblem& problem) {
  const Region& region = problem.pool(stage.groups.front().pool).region;
  return std::ranges::all_of(stage.groups,
                             [&](const ReplicaGroup& group) { return problem.pool(group.pool).region == region; });
}

}  // namespace

int PlanningProblem::most_gpus() const {
  const int available = cluster.free_gpus();
  return job.resources.max_gpus ? std::min(available, *job.resources.max_gpus) : available;
}

bool PlanningProblem::allows_checkpointing(bool recomputes) const {
  return allows_recomputation(job.training.activation_checkpointing, recomputes);
}

std::vector<Techniques> PlanningProblem::allowed_techniques() const {
  std::vector<Techniques> allowed;
  for (const bool recomputes : {false, true}) {
    for (const bool keeps_peer_replicas : {true, false}) {
      if (!allows_checkpointing(recomputes) || !allows_peer_replicas(job.redundancy, keeps_peer_replicas)) continue;
      allowed.push_back({recomputes, false, keeps_peer_replicas});
      if (keeps_peer_replicas) allowed.push_back({recomputes, true, true});
    }
  }
  return allowed;
}

void PlanningProblem::set_estimator(std::unique_ptr<JobEstimator> prepared) {
  estimator = std::move(prepared);
  passes = std::make_shared<PassTable>(job, cluster, tensor_parallel_sizes, allowed_techniques(), *estimator);
}

int PlanningProblem::smallest_tensor_parallel(int pool_index, int microbatch_size, LayerRange layers,
                                              const Techniques& techniques) const {
  const int largest_node = pool(pool_index).nodes.front().free_gpus;
  int largest = 0;
  for (const int tensor_parallel : tensor_parallel_sizes) {
    if (tensor_parallel > largest_node) break;
    if (passes->fits(pool_index, {microbatch_size, tensor_parallel}, layers, techniques)) return tensor_parallel;
    largest = tensor_parallel;
  }
  return ignores_memory ? largest : 0;
}

ClusterState usable_part(const JobSpec& job, const ClusterState& cluster) {
  ClusterState usable = normalized(cluster);
  for (Pool& pool : usable.pools) {
    if (!pool.whole_nodes) continue;
    std::erase_if(pool.nodes, [&](const NodeGroup& group) { return !pool.is_whole(group); });
  }
  std::erase_if(usable.pools, [&](const Pool& pool) {
    return !job.resources.allows(pool.key) || pool.free_gpus() == 0 ||
           usable.accelerators.find(pool.key.accelerator) == nullptr;
  });
  return usable;
}

bool has_slow_gpus(const ClusterState& cluster) {
  return std::ranges::any_of(cluster.pools, [](const Pool& pool) {
    return pool.key.grade > 0 || std::ranges::any_of(pool.nodes, &NodeGroup::is_mixed);
  });
}

std::vector<std::string> notes_on_unknown_pools(const JobSpec& job, const ClusterState& cluster) {
  std::vector<std::string> notes;
  for (const Pool& pool : cluster.pools) {
    if (!job.resources.allows(pool.key) || cluster.accelerators.find(pool.key.accelerator) != nullptr) continue;
    notes.push_back(
        fmt::format("pool {} is left out, because its accelerator is unknown; correct its name, or state the memory "
                    "and the rates of its GPUs in spec.gpu",
                    to_string(pool.key)));
  }
  return notes;
}

std::vector<int> usable_tensor_parallel_sizes(const ClusterState& cluster, int most) {
  int largest = 1;
  for (const Pool& pool : cluster.pools) largest = std::max(largest, pool.nodes.front().free_gpus);
  std::vector<int> tensor_parallel_sizes;
  for (int tensor_parallel = 1; tensor_parallel <= std::min(largest, most); tensor_parallel *= 2)
    tensor_parallel_sizes.push_back(tensor_parallel);
  return tensor_parallel_sizes;
}

bool keeps_to_resources(const GroupedPlan& plan, const PlanningProblem& problem) {
  if (plan.gpus() > problem.most_gpus()) return false;
  for (int index = 0; index < problem.pools(); ++index) {
    if (!keeps_to_pool(plan, index, problem.pool(index))) return false;
  }
  return std::ranges::all_of(plan.stages,
                             [&](const GroupedStage& stage) { return keeps_to_one_region(stage, problem); });
}

}  // namespace sailor
