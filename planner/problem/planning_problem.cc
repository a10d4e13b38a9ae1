#include "planner/problem/planning_problem.h"

#include <algorithm>

#include "core/model/node_packing.h"

namespace sailor {
namespace {

bool keeps_to_pool(const GroupedPlan& plan, int index, const Pool& pool) {
  std::vector<GroupsOfSize> groups;
  int gpus = 0;
  bool is_simple = true;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      if (group.pool != index) continue;
      groups.push_back({group.tensor_parallel, group.count});
      gpus += group.gpus();
      is_simple = is_simple && group.tensor_parallel == 1;
    }
  }
  if (gpus > pool.free_gpus()) return false;
  return is_simple || groups.empty() || pack_groups(pool, groups).left_over == 0;
}

bool keeps_to_one_region(const GroupedStage& stage, const World& world) {
  const Region& region = world.pool(stage.groups.front().pool).region;
  return std::ranges::all_of(stage.groups,
                             [&](const ReplicaGroup& group) { return world.pool(group.pool).region == region; });
}

}  // namespace

int World::most_gpus() const {
  const int available = cluster.free_gpus();
  return job.resources.max_gpus ? std::min(available, *job.resources.max_gpus) : available;
}

std::vector<MemorySavings> World::allowed_savings() const {
  std::vector<MemorySavings> allowed;
  for (const bool recomputes : {false, true}) {
    for (const bool shards : {false, true}) {
      if (allows_checkpointing(recomputes) && (!shards || may_shard_optimizer)) allowed.push_back({recomputes, shards});
    }
  }
  return allowed;
}

void World::ask(std::unique_ptr<JobEstimator> estimator) {
  costs = std::move(estimator);
  passes = std::make_shared<PassTable>(job, cluster, degrees, allowed_savings(), *costs);
}

StageCost World::stage_cost(int pool, int microbatch_size, int degree, int first, int last) const {
  // How many replicas will share the optimizer's state is not known yet: as many as there can be.
  const int shards = savings.shards_optimizer ? job.training.global_batch_size / microbatch_size : 1;
  return costs->stage_cost({first, last, pool, {microbatch_size, degree}, savings.recomputes, shards});
}

int World::smallest_degree(int pool_index, int microbatch_size, int first, int last) const {
  const int largest_node = pool(pool_index).nodes.front().free_gpus;
  int largest = 0;
  for (const int degree : degrees) {
    if (degree > largest_node) break;
    if (passes->fits(pool_index, {microbatch_size, degree}, {first, last}, savings)) return degree;
    largest = degree;
  }
  return is_memory_ignored ? largest : 0;
}

ClusterState usable_part(const JobSpec& job, const ClusterState& cluster) {
  ClusterState usable = normalized(cluster);
  for (Pool& pool : usable.pools) {
    if (!pool.whole_nodes) continue;
    std::erase_if(pool.nodes, [&](const NodeGroup& group) { return group.free_gpus < pool.gpus_per_node; });
  }
  std::erase_if(usable.pools,
                [&](const Pool& pool) { return !job.resources.allows(pool.key) || pool.free_gpus() == 0; });
  return usable;
}

std::vector<int> usable_degrees(const ClusterState& cluster, int most) {
  int largest = 1;
  for (const Pool& pool : cluster.pools) largest = std::max(largest, pool.nodes.front().free_gpus);
  std::vector<int> degrees;
  for (int degree = 1; degree <= std::min(largest, most); degree *= 2) degrees.push_back(degree);
  return degrees;
}

bool keeps_to_resources(const GroupedPlan& plan, const World& world) {
  if (plan.gpus() > world.most_gpus()) return false;
  for (int index = 0; index < world.pools(); ++index) {
    if (!keeps_to_pool(plan, index, world.pool(index))) return false;
  }
  return std::ranges::all_of(plan.stages, [&](const GroupedStage& stage) { return keeps_to_one_region(stage, world); });
}

}  // namespace sailor
