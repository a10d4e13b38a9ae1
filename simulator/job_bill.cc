// What a plan of a job costs: GPUs by the hour, traffic by the gigabyte.
#include <algorithm>
#include <set>

#include "planner/model/node_packing.h"
#include "simulator/analytic_profile.h"
#include "simulator/job_simulation.h"

namespace sailor {
namespace {

double share_of(const ReplicaGroup& group, int microbatches) {
  return static_cast<double>(group.count) * group.microbatches / microbatches;
}

std::size_t zones_of(const GroupedStage& stage, const ClusterState& cluster) {
  std::set<std::string_view> zones;
  for (const ReplicaGroup& group : stage.groups) {
    zones.insert(cluster.pools[static_cast<std::size_t>(group.pool)].key.zone.str());
  }
  return zones.size();
}

}  // namespace

// Activations and their gradients cross every boundary once a microbatch; a ring over n zones crosses n borders.
Dollars JobSimulation::traffic_cost(const GroupedPlan& plan) const {
  Dollars sum(0);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const GroupedStage& stage = plan.stages[i];
    const ReplicaGroup& first = stage.groups.front();
    const LayerCosts& costs =
        tables_.costs(first.pool, {plan.microbatch_size, first.tensor_parallel}, plan.activation_checkpointing);
    if (i + 1 < plan.stages.size()) {
      const Bytes both_ways = costs.output(stage.last_layer - 1) * (2.0 * plan.microbatches);
      for (const ReplicaGroup& from : stage.groups) {
        for (const ReplicaGroup& to : plan.stages[i + 1].groups) {
          const double share = share_of(from, plan.microbatches) * share_of(to, plan.microbatches);
          sum += links_.between(from.pool, to.pool).price * both_ways * share;
        }
      }
    }
    const std::size_t zones = zones_of(stage, cluster_);
    if (zones < 2) continue;
    const int members = stage.replicas();
    const Bytes gradients(costs.range(stage.first_layer, stage.last_layer).parameters * first.tensor_parallel *
                          element_size(job_.training.precision));
    DollarsPerByte price(0);
    for (const ReplicaGroup& a : stage.groups) {
      for (const ReplicaGroup& b : stage.groups) price = std::max(price, links_.between(a.pool, b.pool).price);
    }
    sum += price * gradients * (2.0 * (members - 1) / members * static_cast<double>(zones));
  }
  return sum;
}

DollarsPerHour JobSimulation::gpu_price(const GroupedPlan& plan) const {
  const std::vector<int> used = gpus_of_pools(plan, cluster_.pools.size());
  DollarsPerHour sum(0);
  for (std::size_t index = 0; index < used.size(); ++index) {
    const Pool& pool = cluster_.pools[index];
    int paid = used[index];
    if (pool.whole_nodes && paid > 0) {
      std::vector<GroupsOfSize> groups;
      for (const GroupedStage& stage : plan.stages) {
        for (const ReplicaGroup& group : stage.groups) {
          if (group.pool == static_cast<int>(index)) groups.push_back({group.tensor_parallel, group.count});
        }
      }
      paid = std::max(paid, pack_groups(pool, groups).nodes_used * pool.gpus_per_node);
    }
    sum += pool.price_per_gpu * paid;
  }
  return sum;
}

}  // namespace sailor
