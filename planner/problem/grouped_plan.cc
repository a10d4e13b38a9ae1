#include "planner/problem/grouped_plan.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace sailor {
namespace {

template <class Predicate>
void erase_if(ReplicaGroups& groups, const Predicate& is_erased) {
  groups.erase(std::remove_if(groups.begin(), groups.end(), is_erased), groups.end());
}

}  // namespace

int GroupedStage::replicas() const {
  int sum = 0;
  for (const ReplicaGroup& group : groups) sum += group.count;
  return sum;
}

void GroupedStage::add(const ReplicaGroup& group) {
  const auto same = std::ranges::find_if(groups, [&](const ReplicaGroup& other) { return other.is_like(group); });
  if (same == groups.end()) {
    groups.push_back(group);
  } else {
    same->count += group.count;
  }
  erase_if(groups, [](const ReplicaGroup& one) { return one.count <= 0; });
  std::ranges::sort(groups);
}

int GroupedPlan::gpus() const {
  int sum = 0;
  for (const GroupedStage& stage : stages) {
    for (const ReplicaGroup& group : stage.groups) sum += group.gpus();
  }
  return sum;
}

void renumber_pools(std::span<GroupedStage> stages, std::span<const int> pools) {
  if (pools.empty()) return;
  for (GroupedStage& stage : stages) {
    for (ReplicaGroup& group : stage.groups) group.pool = pools[static_cast<std::size_t>(group.pool)];
    std::ranges::sort(stage.groups);
  }
}

void normalize(GroupedStage& stage) {
  erase_if(stage.groups, [](const ReplicaGroup& group) { return group.count == 0; });
  std::ranges::sort(stage.groups);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < stage.groups.size(); ++i) {
    ReplicaGroup& last = stage.groups[kept];
    const ReplicaGroup& next = stage.groups[i];
    if (last.is_like(next)) {
      last.count += next.count;
    } else {
      stage.groups[++kept] = next;
    }
  }
  if (!stage.groups.empty()) stage.groups.resize(kept + 1);
}

Techniques techniques_of(const Plan& plan) {
  return {plan.activation_checkpointing, plan.sharded_optimizer, plan.peer_replicas};
}

Result<GroupedPlan> grouped(const Plan& plan, const ClusterState& cluster) {
  GroupedPlan result{plan.microbatch_size, plan.microbatches(), {}, techniques_of(plan)};
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    GroupedStage& into = result.stages.emplace_back(GroupedStage{{stage.first_layer, stage.last_layer}, {}});
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
      const Replica& replica = stage.replicas[r];
      const auto pool = std::ranges::find(cluster.pools, replica.pool, &Pool::key);
      if (pool == cluster.pools.end()) {
        return fail(
            ErrorCode::kNotFound,
            fmt::format("plan.stages[{}].replicas[{}].pool: the cluster has no pool {}; declare it as a GpuPool", i, r,
                        to_string(replica.pool)));
      }
      if (cluster.accelerators.find(pool->key.accelerator) == nullptr) {
        return fail(
            ErrorCode::kNotFound,
            fmt::format("plan.stages[{}].replicas[{}].pool: the accelerator of {} is unknown; state the memory and "
                        "the rates of its GPUs in spec.gpu of the GpuPool",
                        i, r, to_string(replica.pool)));
      }
      const auto index = static_cast<int>(pool - cluster.pools.begin());
      into.groups.push_back({index, replica.tensor_parallel, replica.microbatches, 1});
    }
    normalize(into);
  }
  return result;
}

Plan expanded(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster) {
  Plan result{.model = job.model.name,
              .global_batch_size = job.training.global_batch_size,
              .microbatch_size = plan.microbatch_size,
              .stages = {},
              .activation_checkpointing = plan.techniques.recomputes,
              .sharded_optimizer = plan.techniques.shards_optimizer,
              .sequence_parallelism = job.training.uses_sequence_parallelism(),
              .peer_replicas = plan.techniques.keeps_peer_replicas};
  for (const GroupedStage& stage : plan.stages) {
    Stage& into = result.stages.emplace_back(Stage{stage.layers.first, stage.layers.last, {}});
    for (const ReplicaGroup& group : stage.groups) {
      const PoolKey& key = cluster.pools[static_cast<std::size_t>(group.pool)].key;
      for (int i = 0; i < group.count; ++i) {
        into.replicas.push_back({key, group.tensor_parallel, group.microbatches});
      }
    }
  }
  return result;
}

bool has_equal_shares(const GroupedPlan& plan) {
  const int share = plan.stages.front().groups.front().microbatches;
  return std::ranges::all_of(plan.stages, [&](const GroupedStage& stage) {
    return std::ranges::all_of(stage.groups, [&](const ReplicaGroup& group) { return group.microbatches == share; });
  });
}

std::vector<int> gpus_of_pools(const GroupedPlan& plan, std::size_t pools) {
  std::vector<int> gpus(pools);
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) gpus[static_cast<std::size_t>(group.pool)] += group.gpus();
  }
  return gpus;
}

std::vector<GroupsOfSize> groups_of_pool(std::span<const GroupedStage> stages, int pool) {
  std::vector<GroupsOfSize> groups;
  for (const GroupedStage& stage : stages) {
    for (const ReplicaGroup& group : stage.groups) {
      if (group.pool == pool) groups.push_back({group.tensor_parallel, group.count});
    }
  }
  return groups;
}

int nodes_of(const GroupedPlan& plan, const ClusterState& cluster) {
  const std::vector<int> gpus = gpus_of_pools(plan, cluster.pools.size());
  int nodes = 0;
  for (std::size_t pool = 0; pool < gpus.size(); ++pool) {
    if (gpus[pool] == 0) continue;
    const bool is_one_node = gpus[pool] <= cluster.pools[pool].gpus_of_largest_node();
    nodes += is_one_node
                 ? 1
                 : pack_groups(cluster.pools[pool], groups_of_pool(plan.stages, static_cast<int>(pool))).nodes_used;
  }
  return nodes;
}

int zones_of(const GroupedStage& stage, const ClusterState& cluster) {
  if (stage.groups.size() < 2) return 1;
  std::set<std::string_view> zones;
  for (const ReplicaGroup& group : stage.groups) {
    zones.insert(cluster.pools[static_cast<std::size_t>(group.pool)].key.zone.str());
  }
  return static_cast<int>(zones.size());
}

}  // namespace sailor
