#include "simulator/job_simulation.h"

#include <algorithm>
#include <cmath>

#include "planner/model/check.h"
#include "planner/schedule/caps.h"
#include "simulator/analytic_profile.h"
#include "simulator/memory.h"
#include "simulator/paper_formula.h"
#include "simulator/step_time.h"

namespace sailor {
namespace {

bool is_textbook(const std::vector<StageTiming>& stages) {
  const GroupTiming& first = stages.front().groups.front();
  return std::ranges::all_of(stages, [&](const StageTiming& stage) {
    return stage.link == 0 && std::ranges::all_of(stage.groups, [&](const GroupTiming& group) {
             return group.microbatches == first.microbatches && group.forward == first.forward &&
                    group.backward == first.backward;
           });
  });
}

// Replicas of a stage that share the optimizer's state, 1 if each has all of it. Whatever their degrees are, each GPU
// of a replica holds 1 / degree of the stage, and of that one in so many parts.
int optimizer_shards(const GroupedPlan& plan, const GroupedStage& stage) {
  return plan.sharded_optimizer ? stage.replicas() : 1;
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

bool JobSimulation::is_inside_node(int pool, int other, const std::vector<char>& in_one_node) {
  return pool == other && in_one_node[static_cast<std::size_t>(pool)] != 0;
}

const Link& JobSimulation::link(int pool, int other, const std::vector<char>& in_one_node) const {
  return is_inside_node(pool, other, in_one_node) ? links_.inside_node(pool) : links_.between(pool, other);
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

// Replicas of a group that share a node's network card, if the group fills node after node.
int JobSimulation::neighbours_of(const ReplicaGroup& group) const {
  const int gpus = cluster_.pools[static_cast<std::size_t>(group.pool)].gpus_per_node;
  return std::clamp(gpus / group.tensor_parallel, 1, group.count);
}

// While all replicas of a node send, its card gives each its part.
LinkTiming JobSimulation::link_timing(const ReplicaGroup& from, const ReplicaGroup& to, Bytes message,
                                      const std::vector<char>& in_one_node) const {
  const Link& way = link(from.pool, to.pool, in_one_node);
  Seconds occupancy = way.occupancy(message);
  if (!is_inside_node(from.pool, to.pool, in_one_node)) {
    occupancy = std::max({occupancy, links_.card(from.pool).occupancy(message) * neighbours_of(from),
                          links_.card(to.pool).occupancy(message) * neighbours_of(to)});
  }
  return {way.latency.value(), occupancy.value()};
}

Bytes JobSimulation::message_after(const GroupedPlan& plan, const GroupedStage& stage) const {
  const ReplicaGroup& sender = stage.groups.front();
  return tables_.costs(sender.pool, {plan.microbatch_size, sender.tensor_parallel}, plan.activation_checkpointing)
      .output(stage.last_layer - 1);
}

void JobSimulation::add_links(const GroupedPlan& plan, const std::vector<char>& in_one_node,
                              std::vector<StageTiming>& stages) const {
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const Bytes message = message_after(plan, plan.stages[i]);
    stages[i].links.reserve(stages[i].groups.size() * stages[i + 1].groups.size());
    for (const ReplicaGroup& from : plan.stages[i].groups) {
      for (const ReplicaGroup& to : plan.stages[i + 1].groups) {
        stages[i].links.push_back(link_timing(from, to, message, in_one_node));
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

JobSimulation::Passes JobSimulation::passes(std::vector<StageTiming> stages, int microbatches) const {
  Passes result{.length = Seconds(step_time(stages, microbatches)),
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

Ring JobSimulation::ring_of(const GroupedStage& stage, const std::vector<char>& in_one_node) const {
  Ring ring{.members = stage.replicas(), .on_a_node = stage.replicas()};
  Seconds slowest(-1);
  const Bytes probe(1e6);
  for (const ReplicaGroup& a : stage.groups) {
    ring.tensor_parallel = std::max(ring.tensor_parallel, a.tensor_parallel);
    for (const ReplicaGroup& b : stage.groups) {
      const Link& way = links_.between(a.pool, b.pool);
      if (way.transfer(probe) > slowest) ring.between = way;
      slowest = std::max(slowest, way.transfer(probe));
    }
    if (links_.card(a.pool).occupancy(probe) > ring.card.occupancy(probe)) ring.card = links_.card(a.pool);
    const bool is_one_node = is_inside_node(a.pool, a.pool, in_one_node) && a.count == ring.members;
    ring.on_a_node = std::min(ring.on_a_node, is_one_node ? a.count : neighbours_of(a));
    const Link& inside = links_.inside_node(a.pool);
    if (ring.inside.bandwidth == BytesPerSecond(0) || inside.transfer(probe) > ring.inside.transfer(probe)) {
      ring.inside = inside;
    }
  }
  return ring;
}

// What every member of the ring of a stage has to reduce.
Bytes JobSimulation::gradient_shard(const GroupedPlan& plan, const GroupedStage& stage) const {
  Bytes shard(0);
  for (const ReplicaGroup& group : stage.groups) {
    const double parameters = range_cost(plan, stage, group).parameters;
    shard = std::max(shard, Bytes(parameters * element_size(job_.training.precision)));
  }
  return shard;
}

Seconds JobSimulation::gradient_reduction(const GroupedPlan& plan, const GroupedStage& stage,
                                          const std::vector<char>& in_one_node) const {
  if (stage.replicas() < 2) return Seconds(0);
  return all_reduce(gradient_shard(plan, stage), ring_of(stage, in_one_node));
}

JobSimulation::StageEnd JobSimulation::stage_end(const GroupedPlan& plan, const GroupedStage& stage,
                                                 const std::vector<char>& in_one_node) const {
  StageEnd end{.buckets = stage.last_layer - stage.first_layer};
  const Seconds reduction = gradient_reduction(plan, stage, in_one_node);
  end.reduce = plan.sharded_optimizer ? reduction / 2 : reduction;
  end.gather = reduction - end.reduce;
  for (const ReplicaGroup& group : stage.groups) {
    const RangeCost cost = range_cost(plan, stage, group);
    end.update = std::max(end.update, cost.update);
    end.last_backward = std::max(end.last_backward, cost.backward);
  }
  return end;
}

StageSync JobSimulation::sync_of(const GroupedPlan& plan, const GroupedStage& stage) const {
  const std::vector<char> in_one_node = pools_in_one_node(plan);
  const Ring ring = ring_of(stage, in_one_node);
  return {gradient_reduction(plan, stage, in_one_node), all_reduce(Bytes(0), ring),
          ring_all_reduce(gradient_shard(plan, stage), ring)};
}

std::optional<std::string> JobSimulation::difference_from_paper(const Estimate& estimate,
                                                                const GroupedPlan& plan) const {
  const std::vector<char> in_one_node = pools_in_one_node(plan);
  std::vector<StageTiming> stages = stage_timings(plan, in_one_node);
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {  // there all GPUs of a group send their part of a message
    const std::size_t below = stages[i + 1].groups.size();
    for (std::size_t link = 0; link < stages[i].links.size(); ++link) {
      stages[i].links[link].occupancy /= plan.stages[i].groups[link / below].tensor_parallel;
    }
  }
  PaperTime paper{.passes = paper_passes(stages, plan.microbatches)};
  for (const GroupedStage& stage : plan.stages) {
    Ring flat{.members = stage.replicas(), .between = ring_of(stage, in_one_node).between};
    flat.between.latency = Seconds(0);
    paper.gradient_sync = std::max(paper.gradient_sync, ring_all_reduce(gradient_shard(plan, stage), flat));
    for (const ReplicaGroup& group : stage.groups) {
      paper.update = std::max(paper.update, range_cost(plan, stage, group).update);
    }
  }
  return sailor::difference_from_paper(estimate, paper, stages);
}

// A stage synchronises bucket after bucket as its own last backward pass leaves the layers behind; the step ends with
// the slowest stage.
JobSimulation::Synced JobSimulation::synced(const GroupedPlan& plan, const Passes& passes,
                                            const std::vector<char>& in_one_node) const {
  Synced end{passes.length, passes.length};
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageEnd stage = stage_end(plan, plan.stages[i], in_one_node);
    const Seconds hidden = std::min(stage.reduce, stage.last_backward) * (1 - 1.0 / stage.buckets);
    const Seconds gradients = passes.length - Seconds(passes.tails[i]) + stage.reduce - hidden + stage.gather;
    end.gradients = std::max(end.gradients, gradients);
    end.updated = std::max(end.updated, gradients + stage.update);
  }
  return end;
}

Outcome JobSimulation::summed_up(const GroupedPlan& plan, const Passes& done, const Synced& end) const {
  Outcome outcome;
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

Outcome JobSimulation::simulate(const GroupedPlan& plan) const {
  SAILOR_CHECK(!plan.stages.empty() && plan.microbatches > 0, "a plan of {} stages and {} microbatches",
               plan.stages.size(), plan.microbatches);
  const std::vector<char> in_one_node = pools_in_one_node(plan);
  std::vector<StageTiming> stages = stage_timings(plan, in_one_node);
  std::vector<StageMemory> memory = set_caps(plan, stages);
  const Passes done = passes(std::move(stages), plan.microbatches);
  Outcome outcome = summed_up(plan, done, synced(plan, done, in_one_node));
  outcome.memory = std::move(memory);
  return outcome;
}

Quote JobSimulation::quote(const GroupedPlan& plan) const {
  const Outcome outcome = simulate(plan);
  Bytes excess(0);
  for (const StageMemory& stage : outcome.memory) excess = std::max(excess, stage.excess());
  return {outcome.iteration, outcome.gpu_cost + outcome.traffic_cost, excess};
}

StageCost JobSimulation::stage_cost(const StageShape& shape) const {
  const RangeCost cost =
      tables_.costs(shape.pool, shape.point, shape.activation_checkpointing).range(shape.first_layer, shape.last_layer);
  const Holding holding{shape.point.tensor_parallel, shape.optimizer_shards};
  return {.forward = cost.forward,
          .backward = cost.backward,
          .update = cost.update / shape.optimizer_shards,
          .fixed_memory = stage_memory(cost, job_.training, holding).total(),
          .activation_memory = cost.activations,
          .capacity = tables_.accelerator(shape.pool).memory};
}

}  // namespace sailor
