#include "simulator/job_simulation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/model/check.h"
#include "planner/model/node_packing.h"
#include "planner/schedule/caps.h"
#include "simulator/analytic_profile.h"
#include "simulator/memory.h"

namespace sailor {
namespace {

double share_of(const ReplicaGroup& group, int microbatches) {
  return static_cast<double>(group.count) * group.microbatches / microbatches;
}

bool is_textbook(const std::vector<StageTiming>& stages) {
  const GroupTiming& first = stages.front().groups.front();
  return std::ranges::all_of(stages, [&](const StageTiming& stage) {
    return stage.link == 0 && std::ranges::all_of(stage.groups, [&](const GroupTiming& group) {
             return group.microbatches == first.microbatches && group.forward == first.forward &&
                    group.backward == first.backward;
           });
  });
}

double longest_work(const std::vector<StageTiming>& stages) {
  double longest = 0;
  for (const StageTiming& stage : stages) {
    for (const GroupTiming& group : stage.groups) longest = std::max(longest, group.microbatches * group.pass());
  }
  return longest;
}

// Replicas of a stage that share the optimizer's state, 1 if each has all of it. Whatever their degrees are, each GPU
// of a replica holds 1 / degree of the stage, and of that one in so many parts.
int optimizer_shards(const GroupedPlan& plan, const GroupedStage& stage) {
  return plan.sharded_optimizer ? stage.replicas() : 1;
}

std::size_t zones_of(const GroupedStage& stage, const ClusterState& cluster) {
  std::set<std::string_view> zones;
  for (const ReplicaGroup& group : stage.groups) {
    zones.insert(cluster.pools[static_cast<std::size_t>(group.pool)].key.zone.str());
  }
  return zones.size();
}

}  // namespace

JobSimulation::JobSimulation(const JobSpec& job, const ClusterState& cluster, const NetworkModel& network,
                             JobTables tables, SchedulePolicy policy)
    : job_(job), cluster_(cluster), links_(cluster, network), tables_(std::move(tables)), policy_(policy) {}

RangeCost JobSimulation::range_cost(const GroupedPlan& plan, const GroupedStage& stage,
                                    const ReplicaGroup& group) const {
  RangeCost cost =
      tables_.costs(group.pool, {plan.microbatch_size, group.tensor_parallel}, plan.activation_checkpointing)
          .range(stage.first_layer, stage.last_layer);
  cost.update = cost.update / optimizer_shards(plan, stage);
  return cost;
}

// A plan does not say which nodes its replicas get. They are taken to be on different ones, but where all that the
// plan uses of a pool has room on one node.
std::vector<char> JobSimulation::pools_in_one_node(const GroupedPlan& plan) const {
  const std::vector<int> used = gpus_of_pools(plan, cluster_.pools.size());
  std::vector<char> in_one_node(used.size());
  for (std::size_t pool = 0; pool < used.size(); ++pool) {
    const auto& nodes = cluster_.pools[pool].nodes;
    in_one_node[pool] = static_cast<char>(!nodes.empty() && used[pool] <= nodes.front().free_gpus);
  }
  return in_one_node;
}

const Link& JobSimulation::link(int pool, int other, const std::vector<char>& in_one_node) const {
  const bool same_node = pool == other && in_one_node[static_cast<std::size_t>(pool)];
  return same_node ? links_.inside_node(pool) : links_.between(pool, other);
}

std::vector<StageTiming> JobSimulation::stage_timings(const GroupedPlan& plan,
                                                      const std::vector<char>& in_one_node) const {
  std::vector<StageTiming> stages(plan.stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i].groups.reserve(plan.stages[i].groups.size());
    for (const ReplicaGroup& group : plan.stages[i].groups) {
      const RangeCost cost = range_cost(plan, plan.stages[i], group);
      stages[i].groups.push_back({.forward = cost.forward.value(),
                                  .backward = cost.backward.value(),
                                  .microbatches = group.microbatches,
                                  .count = group.count});
    }
  }
  add_links(plan, in_one_node, stages);
  set_means(stages, plan.microbatches);
  return stages;
}

void JobSimulation::add_links(const GroupedPlan& plan, const std::vector<char>& in_one_node,
                              std::vector<StageTiming>& stages) const {
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const GroupedStage& from = plan.stages[i];
    const GroupedStage& to = plan.stages[i + 1];
    const ReplicaGroup& sender = from.groups.front();
    const Bytes message =
        tables_.costs(sender.pool, {plan.microbatch_size, sender.tensor_parallel}, plan.activation_checkpointing)
            .output(from.last_layer - 1);
    for (std::size_t a = 0; a < from.groups.size(); ++a) {
      for (std::size_t b = 0; b < to.groups.size(); ++b) {
        const Link& way = link(from.groups[a].pool, to.groups[b].pool, in_one_node);
        const double occupancy = way.occupancy(message).value();
        const double from_share = share_of(from.groups[a], plan.microbatches);
        const double to_share = share_of(to.groups[b], plan.microbatches);
        stages[i].link += from_share * to_share * (way.latency.value() + occupancy);
        stages[i].groups[a].occupancy += to_share * occupancy;
        stages[i + 1].groups[b].occupancy += from_share * occupancy;
      }
    }
  }
}

int JobSimulation::wanted_in_flight(const InFlightQuestion& question) const {
  if (policy_ != SchedulePolicy::kFlow) return question.stages_from_here;
  const int wanted = flow_in_flight(question.little, question.is_textbook, question.stages_from_here == 1);
  if (question.activations.value() <= 0) return wanted;
  const double held = question.room / question.activations;
  return held < wanted ? std::max(1, static_cast<int>(held)) : wanted;
}

// Decides how many microbatches each group keeps in flight, which its memory may limit, and what memory that takes.
std::vector<StageMemory> JobSimulation::set_caps(const GroupedPlan& plan, std::vector<StageTiming>& stages) const {
  const std::vector<double> downstream = downstream_times(stages);
  const bool textbook = is_textbook(stages);
  const double longest = longest_work(stages);
  std::vector<StageMemory> memory(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (std::size_t g = 0; g < stages[i].groups.size(); ++g) {
      GroupTiming& timing = stages[i].groups[g];
      const ReplicaGroup& group = plan.stages[i].groups[g];
      const RangeCost cost = range_cost(plan, plan.stages[i], group);
      const Bytes capacity = tables_.accelerator(group.pool).memory;
      Holding holding{group.tensor_parallel, optimizer_shards(plan, plan.stages[i])};
      const Bytes fixed = stage_memory(cost, job_.training, holding).total();
      const double little = longest > 0 ? timing.microbatches * (timing.pass() + downstream[i]) / longest : 1;
      const int wanted =
          wanted_in_flight({little, static_cast<int>(stages.size() - i), textbook, capacity - fixed, cost.activations});
      timing.cap = std::max(1, std::min(wanted, timing.microbatches));
      holding.in_flight = timing.cap;
      const StageMemory need{stage_memory(cost, job_.training, holding), capacity, group.pool, group.tensor_parallel};
      if (g == 0 || need.excess() > memory[i].excess()) memory[i] = need;
    }
  }
  return memory;
}

JobSimulation::Passes JobSimulation::passes(std::vector<StageTiming> stages) const {
  Passes result{.length = Seconds(pipeline_time(stages)),
                .compute = Seconds(longest_work(stages)),
                .if_links_were_free = {},
                .tails = tail_times(stages)};
  for (StageTiming& stage : stages) {
    stage.link = 0;
    for (GroupTiming& group : stage.groups) group.occupancy = 0;
  }
  result.if_links_were_free = std::min(result.length, Seconds(pipeline_time(stages)));
  return result;
}

Seconds JobSimulation::gradient_sync(const GroupedPlan& plan, const GroupedStage& stage,
                                     const std::vector<char>& in_one_node) const {
  const int members = stage.replicas();
  if (members < 2) return Seconds(0);
  Bytes shard(0);
  for (const ReplicaGroup& group : stage.groups) {
    const double parameters = range_cost(plan, stage, group).parameters;
    shard = std::max(shard, Bytes(parameters * element_size(job_.training.precision)));
  }
  Seconds slowest(0);
  for (const ReplicaGroup& a : stage.groups) {
    for (const ReplicaGroup& b : stage.groups) {
      slowest = std::max(slowest, ring_all_reduce(shard, members, link(a.pool, b.pool, in_one_node)));
    }
  }
  return slowest;
}

// A stage begins to synchronise when it has done its own last backward pass; the step ends with the slowest stage.
JobSimulation::Synced JobSimulation::synced(const GroupedPlan& plan, const Passes& passes,
                                            const std::vector<char>& in_one_node) const {
  Synced end{passes.length, passes.length};
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    Seconds update(0);
    for (const ReplicaGroup& group : plan.stages[i].groups) {
      update = std::max(update, range_cost(plan, plan.stages[i], group).update);
    }
    const Seconds gradients =
        passes.length - Seconds(passes.tails[i]) + gradient_sync(plan, plan.stages[i], in_one_node);
    end.gradients = std::max(end.gradients, gradients);
    end.updated = std::max(end.updated, gradients + update);
  }
  return end;
}

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

Outcome JobSimulation::simulate(const GroupedPlan& plan) const {
  SAILOR_CHECK(!plan.stages.empty() && plan.microbatches > 0, "a plan of {} stages and {} microbatches",
               plan.stages.size(), plan.microbatches);
  const std::vector<char> in_one_node = pools_in_one_node(plan);
  std::vector<StageTiming> stages = stage_timings(plan, in_one_node);
  Outcome outcome;
  outcome.memory = set_caps(plan, stages);
  const Passes done = passes(std::move(stages));
  const Synced end = synced(plan, done, in_one_node);
  outcome.iteration = end.updated;
  outcome.time = {.compute = done.compute,
                  .bubble = done.if_links_were_free - done.compute,
                  .point_to_point = done.length - done.if_links_were_free,
                  .gradient_sync = end.gradients - done.length,
                  .update = end.updated - end.gradients};
  outcome.gpu_cost = gpu_price(plan) * outcome.iteration;
  outcome.traffic_cost = traffic_cost(plan);
  return outcome;
}

Quote JobSimulation::quote(const GroupedPlan& plan) const {
  const Outcome outcome = simulate(plan);
  Bytes excess(0);
  for (const StageMemory& stage : outcome.memory) excess = std::max(excess, stage.excess());
  return {outcome.iteration, outcome.gpu_cost + outcome.traffic_cost, excess};
}

StageCost JobSimulation::stage_cost(const StageShape& shape) const {
  const RangeCost cost = tables_.costs(shape.pool, shape.point, shape.activation_checkpointing)
                             .range(shape.first_layer, shape.last_layer);
  const Holding holding{shape.point.tensor_parallel, shape.optimizer_shards};
  return {.forward = cost.forward,
          .backward = cost.backward,
          .update = cost.update / shape.optimizer_shards,
          .fixed_memory = stage_memory(cost, job_.training, holding).total(),
          .activation_memory = cost.activations,
          .capacity = tables_.accelerator(shape.pool).memory};
}

}  // namespace sailor
