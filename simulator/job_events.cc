// A plan of a job played operation by operation: its times and links as inputs of schedule and step_timing.h.
#include <algorithm>
#include <cmath>

#include "simulator/job_simulation.h"
#include "simulator/memory.h"
#include "simulator/node_cards.h"

namespace sailor {
namespace {

Nanoseconds nanoseconds(Seconds time) { return Nanoseconds(std::llround(time.value() * 1e9)); }

Seconds seconds(Nanoseconds time) { return Seconds(static_cast<double>(time.count()) * 1e-9); }

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

// Every pool is a site; a node's card is one where it is known what it carries.
ScheduleTimes JobSimulation::schedule_times(const Plan& plan, const GroupedPlan& groups, const PlanLinks& ways) const {
  const std::vector<std::vector<int>> nodes = nodes_of(plan, cluster_);
  ScheduleTimes times;
  times.sites = static_cast<int>(cluster_.pools.size());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    const int shards = plan.sharded_optimizer ? static_cast<int>(stage.replicas.size()) : 1;
    auto& replicas = times.replicas.emplace_back();
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
      const Replica& replica = stage.replicas[r];
      const int pool = pool_index(cluster_, replica.pool);
      const RangeCost cost =
          tables_.costs(pool, {plan.microbatch_size, replica.tensor_parallel}, plan.activation_checkpointing)
              .range(stage.first_layer, stage.last_layer);
      const bool shares_card = links_.card(pool).is_known() && !ways.is_inside_node(pool, pool);
      replicas.push_back({nanoseconds(cost.forward), nanoseconds(cost.backward), pool,
                          memory_cap(cost, pool, {replica.tensor_parallel, shards}, replica.microbatches),
                          shares_card ? nodes[i][r] : ReplicaTimes::kNoCard});
    }
  }
  add_links(groups, ways, times);
  return times;
}

void JobSimulation::add_links(const GroupedPlan& plan, const PlanLinks& ways, ScheduleTimes& times) const {
  for (const GroupedStage& stage : plan.stages) {
    const Bytes message = message_after(plan, stage);
    auto& links = times.links.emplace_back();
    for (int a = 0; a < times.sites; ++a) {
      for (int b = 0; b < times.sites; ++b) {
        const Link& way = ways.between(a, b);
        const Seconds card = std::max(links_.card(a).occupancy(message), links_.card(b).occupancy(message));
        links.push_back({nanoseconds(way.latency), nanoseconds(way.occupancy(message)), nanoseconds(card)});
      }
    }
  }
}

StepTiming JobSimulation::play(const Plan& plan, const GroupedPlan& groups) const {
  const PlanLinks ways(groups, cluster_, links_);
  const ScheduleTimes times = schedule_times(plan, groups, ways);
  Execution execution;
  for (const GroupedStage& stage : groups.stages) {
    const StageEnd end = stage_end(groups, stage, ways);
    execution.all_reduce.push_back(nanoseconds(end.reduce));
    execution.buckets.push_back(end.buckets);
    execution.update.push_back(nanoseconds(end.update));
    execution.gather.push_back(nanoseconds(end.gather));
  }
  return time_step(make_schedule(plan, times, policy_), times, execution);
}

Quote JobSimulation::played_quote(const GroupedPlan& plan) const {
  std::vector<StageTiming> stages = stage_timings(plan, PlanLinks(plan, cluster_, links_));
  Bytes excess(0);
  for (const StageMemory& stage : set_caps(plan, stages)) excess = std::max(excess, stage.excess());
  const Seconds iteration = seconds(play(expanded(plan, job_, cluster_), plan).end());
  const Bill bill = bill_of(plan);
  return {iteration, bill.gpus() * iteration + bill.traffic(), excess};
}

Outcome JobSimulation::outcome_of(const StepTiming& step, const Plan& plan, const GroupedPlan& groups) const {
  const PlanLinks ways(groups, cluster_, links_);
  std::vector<StageTiming> stages = stage_timings(groups, ways);
  std::vector<StageMemory> memory = set_caps(groups, stages);
  ScheduleTimes free = schedule_times(plan, groups, ways);
  for (auto& boundary : free.links) std::ranges::fill(boundary, LinkTimes{});
  Passes done{.length = seconds(step.passes_end()), .compute = Seconds(longest_work(stages))};
  done.if_links_were_free = std::min(done.length, seconds(make_schedule(plan, free, policy_).duration));
  done.compute = std::min(done.compute, done.if_links_were_free);  // it is not rounded to nanoseconds
  Synced end{done.length, seconds(step.end())};
  for (std::size_t i = 0; i < groups.stages.size(); ++i) {
    const Seconds gather = stage_end(groups, groups.stages[i], ways).gather;
    end.gradients = std::max(end.gradients, seconds(step.synced[i]) + gather);
  }
  end.gradients = std::min(end.gradients, end.updated);
  Outcome outcome = summed_up(groups, done, end);
  outcome.memory = std::move(memory);
  return outcome;
}

}  // namespace sailor
