// A plan of a job played operation by operation: its times and links as inputs of schedule and step_timing.h.
#include <algorithm>
#include <cmath>

#include "simulator/job_simulation.h"
#include "simulator/memory.h"

namespace sailor {
namespace {

Nanoseconds nanoseconds(Seconds time) { return Nanoseconds(std::llround(time.value() * 1e9)); }

int pool_index(const ClusterState& cluster, const PoolKey& key) {
  return static_cast<int>(std::ranges::find(cluster.pools, key, &Pool::key) - cluster.pools.begin());
}

}  // namespace

// Microbatches in flight that a GPU's memory holds; one at least, so that a plan that does not fit can be played too.
int JobSimulation::memory_cap(const RangeCost& cost, int pool, const Holding& holding, int microbatches) const {
  if (cost.activations <= Bytes(0)) return microbatches;
  const Bytes fixed = stage_memory(cost, job_.training, holding).total();
  const double room = (tables_.accelerator(pool).memory - fixed) / cost.activations;
  return static_cast<int>(std::clamp(room, 1.0, std::max(1.0, static_cast<double>(microbatches))));
}

// Every pool is a site.
ScheduleTimes JobSimulation::schedule_times(const Plan& plan, const std::vector<char>& in_one_node) const {
  const bool recompute = plan.activation_checkpointing;
  ScheduleTimes times;
  times.sites = static_cast<int>(cluster_.pools.size());
  for (const Stage& stage : plan.stages) {
    auto& replicas = times.replicas.emplace_back();
    for (const Replica& replica : stage.replicas) {
      const int pool = pool_index(cluster_, replica.pool);
      const RangeCost cost = tables_.costs(pool, {plan.microbatch_size, replica.tensor_parallel}, recompute)
                                 .range(stage.first_layer, stage.last_layer);
      const int shards = plan.sharded_optimizer ? static_cast<int>(stage.replicas.size()) : 1;
      replicas.push_back({nanoseconds(cost.forward), nanoseconds(cost.backward), pool,
                          memory_cap(cost, pool, {replica.tensor_parallel, shards}, replica.microbatches)});
    }
    const Replica& sender = stage.replicas.front();
    const Bytes message = tables_.costs(replicas.front().site, {plan.microbatch_size, sender.tensor_parallel}, recompute)
                              .output(stage.last_layer - 1);
    auto& links = times.links.emplace_back();
    for (int a = 0; a < times.sites; ++a) {
      for (int b = 0; b < times.sites; ++b) {
        const Link& way = link(a, b, in_one_node);
        links.push_back({nanoseconds(way.latency), nanoseconds(way.occupancy(message))});
      }
    }
  }
  return times;
}

StepTiming JobSimulation::play(const Plan& plan, const GroupedPlan& groups) const {
  const std::vector<char> in_one_node = pools_in_one_node(groups);
  const ScheduleTimes times = schedule_times(plan, in_one_node);
  Execution execution;
  for (const GroupedStage& stage : groups.stages) {
    Seconds update(0);
    for (const ReplicaGroup& group : stage.groups) update = std::max(update, range_cost(groups, stage, group).update);
    execution.all_reduce.push_back(nanoseconds(gradient_sync(groups, stage, in_one_node)));
    execution.update.push_back(nanoseconds(update));
  }
  return time_step(make_schedule(plan, times, policy_), times, execution);
}

}  // namespace sailor
