// Simulates a plan of a job operation by operation: gives its times and links to the schedule and to step_timing.h.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/schedule/make_schedule.h"
#include "core/schedule/one_forward_one_backward.h"
#include "simulator/job_simulation.h"
#include "simulator/memory.h"
#include "simulator/node_placement.h"

namespace sailor {
namespace {

Seconds seconds(Nanoseconds time) { return Seconds(static_cast<double>(time.count()) * 1e-9); }

int pool_index(const ClusterState& cluster, const PoolKey& key) {
  return static_cast<int>(std::ranges::find(cluster.pools, key, &Pool::key) - cluster.pools.begin());
}

// Returns the kinds of groups that the plan uses, in ascending order.
std::vector<MessageEnd> ends_of(const GroupedPlan& plan) {
  std::set<MessageEnd> ends;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) ends.insert({group.pool, group.tensor_parallel});
  }
  return {ends.begin(), ends.end()};
}

}  // namespace

// Every kind of group that the plan uses is a link class. Replicas share a NIC only if its rate is known.
ScheduleTimes JobSimulation::times_of(const Plan& plan, const GroupedPlan& groups, const PlanLinks& links) const {
  const std::vector<std::vector<int>> nodes = node_placement(plan, cluster_);
  const std::vector<MessageEnd> ends = ends_of(groups);
  const std::vector<double> replicated = peer_parameters(groups);
  ScheduleTimes times;
  times.link_classes = static_cast<int>(ends.size());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    auto& replicas = times.replicas.emplace_back();
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
      const Replica& replica = stage.replicas[r];
      const int pool = pool_index(cluster_, replica.pool);
      const ReplicaGroup alone{.pool = pool, .tensor_parallel = replica.tensor_parallel};
      const RangeNeeds needs = range_needs(groups, groups.stages[i], alone);
      const bool shares_nic = links_.has_shared_rate(pool) && !links.is_inside_node(pool, pool);
      const MessageEnd end{pool, replica.tensor_parallel};
      const auto link_class = static_cast<int>(std::ranges::lower_bound(ends, end) - ends.begin());
      replicas.push_back({to_nanoseconds(needs.forward), to_nanoseconds(needs.backward), link_class,
                          most_in_flight(needs, pool, memory_inputs(groups, i, replica.tensor_parallel, replicated[i])),
                          shares_nic ? nodes[i][r] : ReplicaTimes::kNoNic});
    }
  }
  for (std::size_t i = 0; i + 1 < groups.stages.size(); ++i) {
    times.links.push_back(links_between(ends, links, message_after(groups, groups.stages[i])));
  }
  return times;
}

// Does to single replicas what the function of the same name does to groups.
ScheduleTimes JobSimulation::executed(ScheduleTimes times, const Plan& plan, const GroupedPlan& groups,
                                      const PlanLinks& links) const {
  if (execution_.messages_beside_passes) return times;
  const std::vector<StageTiming> stages = stage_timings(groups, links);
  const std::vector<StageTiming> slower = executed(stages, groups);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    for (std::size_t r = 0; r < plan.stages[i].replicas.size(); ++r) {
      const Replica& replica = plan.stages[i].replicas[r];
      const int pool = pool_index(cluster_, replica.pool);
      const auto& all = groups.stages[i].groups;
      const auto group = std::ranges::find_if(all, [&](const ReplicaGroup& one) {
        return one.pool == pool && one.tensor_parallel == replica.tensor_parallel;
      });
      const auto index = static_cast<std::size_t>(group - all.begin());
      const Seconds wait(slower[i].groups[index].forward - stages[i].groups[index].forward);
      times.replicas[i][r].forward += to_nanoseconds(wait);
      times.replicas[i][r].backward += to_nanoseconds(wait);
    }
  }
  for (auto& boundary : times.links) {
    for (LinkTimes& link : boundary) link.occupancy = link.nic = Nanoseconds(0);
  }
  return times;
}

std::vector<LinkTimes> JobSimulation::links_between(std::span<const MessageEnd> ends, const PlanLinks& plan_links,
                                                    Bytes message) const {
  std::vector<LinkTimes> links;
  links.reserve(ends.size() * ends.size());
  for (const MessageEnd a : ends) {
    for (const MessageEnd b : ends) {
      const Seconds latency = messages_.latency(plan_links.between(a.pool, b.pool));
      const Seconds occupancy = plan_links.is_inside_node(a.pool, b.pool) ? messages_.inside_node(a, b, message)
                                                                          : messages_.between_nodes(a, b, message);
      const Seconds shared = links_.shared_occupancy(a.pool, b.pool, message);
      links.push_back({to_nanoseconds(latency), to_nanoseconds(occupancy), to_nanoseconds(shared)});
    }
  }
  return links;
}

ScheduleTimes JobSimulation::schedule_times(const Plan& plan, const GroupedPlan& groups) const {
  return with_in_flight_caps(plan, times_of(plan, groups, PlanLinks(groups, cluster_, links_)), execution_.schedule);
}

std::optional<Schedule> JobSimulation::schedule_within(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                                       const ScheduleTimes& times) const {
  if (execution_.schedule == SchedulePolicy::kFlow) return make_schedule_within(deadlines, plan, times);
  if (auto schedule = deepspeed_schedule(plan)) return schedule;
  return make_schedule(plan, times, execution_.schedule);
}

Execution JobSimulation::execution(const GroupedPlan& plan, std::span<const StageEnd> ends) const {
  Execution execution{.receives_block = execution_.receives_in_order};
  for (std::size_t boundary = 0; boundary + 1 < ends.size(); ++boundary) {
    execution.held.push_back(held_part(plan, boundary));
  }
  for (const StageEnd& end : ends) {
    execution.all_reduce.push_back(to_nanoseconds(end.reduce));
    execution.buckets.push_back(end.buckets);
    execution.update.push_back(to_nanoseconds(end.update));
    execution.gather.push_back(to_nanoseconds(end.gather));
  }
  execution.tied = to_nanoseconds(ends.front().tied);
  return execution;
}

StepTiming JobSimulation::step_timing(const Plan& plan, const GroupedPlan& groups) const {
  const PlanLinks links(groups, cluster_, links_);
  const ScheduleTimes times = with_in_flight_caps(plan, times_of(plan, groups, links), execution_.schedule);
  return time_step(schedule_within({}, plan, times).value(), executed(times, plan, groups, links),
                   execution(groups, stage_ends(groups, links)));
}

// Returns when each stage must have completed its passes for the step to take no longer than `most`. Subtracts what
// follows the passes, and the path of the last gradient up through the fastest replicas.
std::vector<Nanoseconds> JobSimulation::deadlines(Seconds most, std::span<const StageEnd> ends,
                                                  std::span<const StageTiming> stages) {
  std::vector<Nanoseconds> by;
  Seconds above = most;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const StageEnd& end = ends[i];
    const Seconds exposed =
        std::max(end.reduce / end.buckets, end.reduce - end.last_backward * (1 - 1.0 / end.buckets));
    const Seconds own = most - exposed - end.tied - end.update - end.gather;
    by.push_back(to_nanoseconds(std::min(own, above)));
    above = std::min(own, above) - Seconds(stages[i].fastest_backward());
  }
  return by;
}

std::optional<EstimateSummary> JobSimulation::simulated_below(const Cutoff& cutoff, const GroupedPlan& groups) const {
  // The step may end a little sooner than in the simulation that made the schedule, because messages wait for buffers
  // there.
  constexpr double kSooner = 0.01;
  if (uses_paper_formula(groups)) return paper_estimate_below(cutoff, groups);
  if (is_too_long(groups)) {
    return estimate_below(cutoff, groups, [](std::span<const StageTiming> stages, int microbatches, double) {
      return long_step_time(stages, microbatches);
    });
  }
  const PlanLinks links(groups, cluster_, links_);
  const Bill bill = bill_of(groups);
  const DollarsPerHour price = bill.gpus();
  const Dollars traffic = bill.traffic();
  std::vector<StageTiming> stages = stage_timings(groups, links);
  const std::vector<StageEnd> ends = stage_ends(groups, links);
  const Seconds most = cutoff.iteration_with(price, traffic);
  const Plan plan = expanded(groups, job_, cluster_);
  const ScheduleTimes times = with_in_flight_caps(plan, times_of(plan, groups, links), execution_.schedule);
  std::vector<Nanoseconds> by;
  if (std::isfinite(most.value())) by = deadlines(most * (1 + kSooner), ends, stages);
  const auto schedule = schedule_within(by, plan, times);
  if (!schedule) return std::nullopt;
  Bytes excess(0);
  for (const StageMemory& stage : set_caps(groups, stages)) excess = std::max(excess, stage.excess());
  const StepTiming step = time_step(*schedule, executed(times, plan, groups, links), execution(groups, ends));
  const Seconds iteration = seconds(step.end());
  const EstimateSummary estimate{iteration, price * iteration + traffic, excess,
                                 counted_loss(groups, iteration, links)};
  if (cutoff.is_reached_by(estimate)) return std::nullopt;
  return estimate;
}

SimulationResult JobSimulation::result_of(const StepTiming& step, const Plan& plan, const GroupedPlan& groups) const {
  if (uses_paper_formula(groups)) return paper_result(groups);
  const PlanLinks links(groups, cluster_, links_);
  std::vector<StageTiming> stages = stage_timings(groups, links);
  std::vector<StageMemory> memory = set_caps(groups, stages);
  ScheduleTimes free = times_of(plan, groups, links);
  for (auto& boundary : free.links) std::ranges::fill(boundary, LinkTimes{});
  Passes done{.length = seconds(step.passes_end()), .compute = Seconds(longest_work(stages))};
  done.if_links_were_free = std::min(done.length, seconds(make_schedule(plan, free, execution_.schedule).duration));
  done.compute = std::min(done.compute, done.if_links_were_free);  // longest_work() is not rounded to nanoseconds
  Synced end{done.length, seconds(step.end())};
  const std::vector<StageEnd> ends = stage_ends(groups, links);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    end.gradients = std::max(end.gradients, seconds(step.synced[i]) + ends[i].gather);
  }
  end.gradients = std::min(end.gradients, end.updated);
  SimulationResult result = summarized(groups, done, end);
  result.memory = std::move(memory);
  return result;
}

}  // namespace sailor
