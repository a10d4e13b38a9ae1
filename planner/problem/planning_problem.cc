#include "planner/problem/planning_problem.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/model/check.h"

namespace sailor {
namespace {

// The groups of each pool fit on its nodes if, for each size, the nodes can hold the groups of this size and of the
// larger ones as groups of this size. Because all sizes are powers of two, it does not matter which group is on which
// node. This says the same as pack_groups() for every pool, in a fraction of the time.
bool keeps_to_nodes(const GroupedPlan& plan, const PlanningProblem& problem) {
  constexpr std::size_t kSizes = 16;
  std::vector<int> counts(static_cast<std::size_t>(problem.pools()) * kSizes);  // [pool][log2 of the size]
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      const auto size = static_cast<unsigned>(group.tensor_parallel);
      SAILOR_CHECK(std::has_single_bit(size), "a tensor-parallel group of {} GPUs", size);
      counts[static_cast<std::size_t>(group.pool) * kSizes + static_cast<std::size_t>(std::countr_zero(size))] +=
          group.count;
    }
  }
  for (int pool = 0; pool < problem.pools(); ++pool) {
    const int* of_pool = counts.data() + static_cast<std::size_t>(pool) * kSizes;
    int taken = 0;
    for (int log = kSizes - 1; log >= 0; --log) {
      taken = 2 * taken + of_pool[log];
      if (of_pool[log] > 0 && taken > problem.pool(pool).group_capacity(1 << log)) return false;
    }
  }
  return true;
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
  const int largest_node = pool(pool_index).gpus_of_largest_node();
  int largest = 0;
  for (const int tensor_parallel : tensor_parallel_sizes) {
    if (tensor_parallel > largest_node) break;
    if (passes->fits(pool_index, {microbatch_size, tensor_parallel}, layers, techniques)) return tensor_parallel;
    largest = tensor_parallel;
  }
  return ignores_memory ? largest : 0;
}

ClusterState usable_part(const JobSpec& job, ClusterState cluster) {
  for (Pool& pool : cluster.pools) {
    if (!pool.whole_nodes) continue;
    std::erase_if(pool.nodes, [&](const NodeGroup& group) { return !pool.is_whole(group); });
  }
  std::erase_if(cluster.pools, [&](const Pool& pool) {
    return !job.resources.allows(pool.key) || pool.free_gpus() == 0 ||
           cluster.accelerators.find(pool.key.accelerator) == nullptr;
  });
  return cluster;
}

ClusterState in_order_of_facts(ClusterState cluster) {
  std::map<Zone, int> gpus_of_zone;
  std::map<Region, int> gpus_of_region;
  for (const Pool& pool : cluster.pools) {
    gpus_of_zone[pool.key.zone] += pool.free_gpus();
    gpus_of_region[pool.region] += pool.free_gpus();
  }
  std::ranges::stable_sort(cluster.pools, {}, [&](const Pool& pool) {
    return std::tuple(pool.key.gpu_class(), pool.key.provisioning, pool.price_per_gpu, pool.nodes,
                      gpus_of_zone.at(pool.key.zone), gpus_of_region.at(pool.region));
  });
  return cluster;
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
  for (const Pool& pool : cluster.pools) largest = std::max(largest, pool.gpus_of_largest_node());
  std::vector<int> tensor_parallel_sizes;
  for (int tensor_parallel = 1; tensor_parallel <= std::min(largest, most); tensor_parallel *= 2)
    tensor_parallel_sizes.push_back(tensor_parallel);
  return tensor_parallel_sizes;
}

bool keeps_to_resources(const GroupedPlan& plan, const PlanningProblem& problem) {
  if (plan.gpus() > problem.most_gpus()) return false;
  return keeps_to_nodes(plan, problem) && std::ranges::all_of(plan.stages, [&](const GroupedStage& stage) {
           return keeps_to_one_region(stage, problem);
         });
}

}  // namespace sailor
