#include "simulator/job_simulation.h"

#include <algorithm>
#include <cmath>

#include "core/model/check.h"
#include "core/schedule/caps.h"
#include "simulator/expected_loss.h"
#include "simulator/memory.h"
#include "simulator/tied_embedding.h"

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

// The replicas of a stage that share the optimizer's state; 1 if each has all of it. Each GPU of a replica has
// 1 / tensor_parallel of the stage, and with sharding, one of this number of shards of the optimizer's state for it.
int optimizer_shards(const GroupedPlan& plan, const GroupedStage& stage) {
  return plan.techniques.shards_optimizer ? stage.replicas() : 1;
}

}  // namespace

JobSimulation::JobSimulation(const JobSpec& job, const ClusterState& cluster, const NetworkModel& network,
                             JobTables tables, ExecutionModel execution)
    : job_(job),
      cluster_(cluster),
      links_(cluster, network),
      tables_(std::move(tables)),
      execution_(std::move(execution)),
      messages_(cluster_, network, execution_, links_, tables_.tensor_parallel_sizes()),
      paper_(cluster_, network, links_, messages_, tables_) {}

RangeNeeds JobSimulation::range_needs(const GroupedPlan& plan, const GroupedStage& stage,
                                      const ReplicaGroup& group) const {
  RangeNeeds needs = layer_needs(plan, group).range(stage.layers);
  needs.update = needs.update / optimizer_shards(plan, stage);
  if (plan.stages.size() > 1) {
    needs.forward += execution_.pass_overhead;
    needs.backward += execution_.pass_overhead;
  }
  return needs;
}

std::vector<StageTiming> JobSimulation::stage_timings(const GroupedPlan& plan, const PlanLinks& links) const {
  std::vector<StageTiming> stages(plan.stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i].groups.reserve(plan.stages[i].groups.size());
    for (const ReplicaGroup& group : plan.stages[i].groups) {
      const RangeNeeds needs = range_needs(plan, plan.stages[i], group);
      stages[i].groups.push_back({.forward = needs.forward.value(),
                                  .backward = needs.backward.value(),
                                  .microbatches = group.microbatches,
                                  .count = group.count});
    }
  }
  add_links(plan, links, stages);
  set_means(stages, plan.microbatches);
  return stages;
}

double JobSimulation::held_part(const GroupedPlan& plan, std::size_t boundary) const {
  if (!std::isfinite(execution_.send_buffer.value())) return 0;
  return std::max(0.0, 1 - execution_.send_buffer / message_after(plan, plan.stages[boundary]));
}

// A pass takes longer by the message that follows it, over the slowest link of its group: a forward pass by the
// activations that it sends, a backward pass by the gradients that it receives. Only the link's latency passes beside
// passes, because nobody has to send for so long.
std::vector<StageTiming> JobSimulation::executed(std::vector<StageTiming> stages, const GroupedPlan& plan) const {
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const double part = execution_.messages_beside_passes ? held_part(plan, i) : 1;
    if (part <= 0) continue;
    const std::size_t below = stages[i + 1].groups.size();
    for (std::size_t group = 0; group < stages[i].groups.size(); ++group) {
      double longest = 0;
      for (std::size_t to = 0; to < below; ++to) {
        longest = std::max(longest, stages[i].links[group * below + to].occupancy);
      }
      stages[i].groups[group].forward += part * longest;
      stages[i].groups[group].backward += part * longest;
    }
    for (LinkTiming& link : stages[i].links) link.occupancy *= 1 - part;
  }
  set_means(stages, plan.microbatches);
  return stages;
}

Bytes JobSimulation::message_after(const GroupedPlan& plan, const GroupedStage& stage) const {
  return layer_needs(plan, stage.groups.front()).output(stage.layers.last - 1);
}

void JobSimulation::add_links(const GroupedPlan& plan, const PlanLinks& links, std::vector<StageTiming>& stages) const {
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const Bytes message = message_after(plan, plan.stages[i]);
    stages[i].links.reserve(stages[i].groups.size() * stages[i + 1].groups.size());
    for (const ReplicaGroup& from : plan.stages[i].groups) {
      for (const ReplicaGroup& to : plan.stages[i + 1].groups) {
        stages[i].links.push_back(links.timing({plan.stages[i], from}, {plan.stages[i + 1], to}, message, messages_));
      }
    }
  }
}

MemoryInputs JobSimulation::memory_inputs(const GroupedPlan& plan, std::size_t stage, int tensor_parallel,
                                          double peer_parameters) const {
  MemoryInputs inputs{.tensor_parallel = tensor_parallel,
                      .optimizer_shards = optimizer_shards(plan, plan.stages[stage]),
                      .peer_parameters = peer_parameters};
  if (plan.stages.size() > 1) {
    // A worker receives its part of a message, and sends a gradient while the next messages arrive. An activation that
    // it sends is one of those that it keeps.
    const Bytes message = message_after(plan, plan.stages[stage == 0 ? 0 : stage - 1]);
    inputs.messages = message * (kReceivesAhead + 1) / tensor_parallel;
  }
  return inputs;
}

int JobSimulation::most_in_flight(const RangeNeeds& needs, int pool, const MemoryInputs& inputs) const {
  constexpr int kUnlimited = 1'000'000;
  if (needs.activations <= Bytes(0)) return kUnlimited;
  const Bytes room = usable_memory(tables_.accelerator(pool), execution_.memory) - memory_of(needs, inputs).total();
  return static_cast<int>(std::clamp(room / needs.activations, 1.0, double{kUnlimited}));
}

// Sets how many microbatches each group keeps in flight, which its memory may limit. Returns the memory that this
// takes.
std::vector<StageMemory> JobSimulation::set_caps(const GroupedPlan& plan, std::vector<StageTiming>& stages) const {
  const std::vector<double> downstream = downstream_times(stages);
  const bool textbook = is_textbook(stages);
  const double longest = longest_work(stages);
  const std::vector<double> replicated = peer_parameters(plan);
  std::vector<StageMemory> memory(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (std::size_t g = 0; g < stages[i].groups.size(); ++g) {
      GroupTiming& timing = stages[i].groups[g];
      const ReplicaGroup& group = plan.stages[i].groups[g];
      const RangeNeeds needs = range_needs(plan, plan.stages[i], group);
      MemoryInputs inputs = memory_inputs(plan, i, group.tensor_parallel, replicated[i]);
      const double little = longest > 0 ? timing.microbatches * (timing.pass() + downstream[i]) / longest : 1;
      const int wanted = execution_.schedule == SchedulePolicy::kFlow
                             ? std::min(flow_policy_cap(little, textbook, i + 1 == stages.size()),
                                        most_in_flight(needs, group.pool, inputs))
                             : static_cast<int>(stages.size() - i);  // this policy does not look at memory
      timing.cap = std::max(1, std::min(wanted, timing.microbatches));
      inputs.in_flight = timing.cap;
      const StageMemory use{memory_of(needs, inputs), usable_memory(tables_.accelerator(group.pool), execution_.memory),
                            group.pool, group.tensor_parallel};
      if (g == 0 || use.excess() > memory[i].excess()) memory[i] = use;
    }
  }
  return memory;
}

JobSimulation::Passes JobSimulation::passes(std::vector<StageTiming> stages, const GroupedPlan& plan,
                                            StepTime step_time) const {
  const std::vector<StageTiming> played = executed(stages, plan);
  Passes result{.length = Seconds(step_time(played, plan.microbatches)),
                .compute = Seconds(longest_work(stages)),
                .if_links_were_free = {},
                .tails = tail_times(played)};
  for (StageTiming& stage : stages) {
    stage.link = 0;
    for (GroupTiming& group : stage.groups) group.occupancy = 0;
  }
  result.if_links_were_free = std::min(result.length, Seconds(pipeline_time(stages)));
  return result;
}

// The parameters of the largest shard of the stage, without those of a tied embedding: every member of the stage's ring
// exchanges that many.
double JobSimulation::summed_parameters(const GroupedPlan& plan, const GroupedStage& stage) const {
  double most = 0;
  for (const ReplicaGroup& group : stage.groups) {
    most = std::max(most, layer_needs(plan, group).summed_parameters(stage.layers));
  }
  return most;
}

Seconds JobSimulation::summed(Bytes size, const Ring& ring) const {
  const bool is_ring = execution_.sum_algorithm == SumAlgorithm::kRing;
  return (is_ring ? ring_all_reduce(size, ring) : all_reduce(size, ring)) / execution_.sum_share;
}

// An all-reduce is a reduce-scatter and an all-gather. Both take equally long for the same number of bytes.
JobSimulation::Sync JobSimulation::sync(const GroupedPlan& plan, const GroupedStage& stage,
                                        const PlanLinks& links) const {
  if (stage.replicas() < 2) return {};
  return sync_of(summed_parameters(plan, stage), plan, links.ring_of(stage));
}

JobSimulation::Sync JobSimulation::sync_of_tied_embedding(const GroupedPlan& plan, const PlanLinks& links) const {
  const auto holders = holders_of_tied_embedding(plan, job_.model);
  if (!holders) return {};
  double parameters = 0;
  for (const ReplicaGroup& group : holders->groups) {
    parameters = std::max(parameters, layer_needs(plan, group).tied_parameters());
  }
  return sync_of(parameters, plan, links.ring_of(*holders));
}

JobSimulation::Sync JobSimulation::sync_of(double parameters, const GroupedPlan& plan, const Ring& ring) const {
  const SyncedBytes bytes = synced_bytes(job_.training.precision, plan.techniques.shards_optimizer);
  const Seconds reduce = summed(Bytes(parameters * bytes.reduced), ring) / 2;
  const Seconds gather =
      bytes.gathered == bytes.reduced ? reduce : summed(Bytes(parameters * bytes.gathered), ring) / 2;
  return {reduce, gather};
}

JobSimulation::StageEnd JobSimulation::stage_end(const GroupedPlan& plan, const GroupedStage& stage,
                                                 const PlanLinks& links) const {
  StageEnd end{.buckets = buckets(stage.layers)};
  const Sync parts = sync(plan, stage, links);
  end.reduce = plan.techniques.shards_optimizer ? parts.reduce : parts.reduce + parts.gather;
  end.gather = plan.techniques.shards_optimizer ? parts.gather : Seconds(0);
  for (const ReplicaGroup& group : stage.groups) {
    const RangeNeeds needs = range_needs(plan, stage, group);
    end.update = std::max(end.update, needs.update);
    end.last_backward = std::max(end.last_backward, needs.backward);
  }
  return end;
}

std::vector<JobSimulation::StageEnd> JobSimulation::stage_ends(const GroupedPlan& plan, const PlanLinks& links) const {
  std::vector<StageEnd> ends;
  ends.reserve(plan.stages.size());
  for (const GroupedStage& stage : plan.stages) ends.push_back(stage_end(plan, stage, links));
  const Sync tied = sync_of_tied_embedding(plan, links);
  for (StageEnd* end : {&ends.front(), &ends.back()}) {
    end->tied = plan.techniques.shards_optimizer ? tied.reduce : tied.reduce + tied.gather;
    if (plan.techniques.shards_optimizer) end->gather += tied.gather;
  }
  if (plan.techniques.keeps_peer_replicas) add_peer_replicas(plan, links, ends);
  return ends;
}

// A stage synchronises one bucket after the other, as its last backward pass leaves the layers behind. The step ends
// when the slowest stage is done.
JobSimulation::Synced JobSimulation::synced(std::span<const StageEnd> ends, Seconds passes,
                                            std::span<const double> tails) {
  Synced end{passes, passes};
  const auto summed = [&](std::size_t i) {
    const StageEnd& stage = ends[i];
    return passes - Seconds(tails[i]) + exposed_reduction(stage.reduce, stage.last_backward, stage.buckets);
  };
  const Seconds both = std::max(summed(0), summed(ends.size() - 1));  // then they sum a tied embedding
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const StageEnd& stage = ends[i];
    const Seconds gradients = (stage.tied > Seconds(0) ? both + stage.tied : summed(i)) + stage.gather;
    end.gradients = std::max(end.gradients, gradients);
    end.updated = std::max(end.updated, gradients + stage.update);
  }
  return end;
}

ExpectedLoss JobSimulation::loss_of(const GroupedPlan& plan, Seconds iteration) const {
  return expected_loss(plan, iteration, job_, cluster_, PlanLinks(plan, cluster_, links_));
}

double JobSimulation::counted_loss(const GroupedPlan& plan, Seconds iteration, const PlanLinks& links) const {
  if (!counts_losses(job_)) return 0;
  return expected_loss(plan, iteration, job_, cluster_, links).ratio();
}

SimulationResult JobSimulation::summarized(const GroupedPlan& plan, const Passes& done, const Synced& end) const {
  SimulationResult result;
  result.iteration = end.updated;
  result.time = {.compute = done.compute,
                 .bubble = done.if_links_were_free - done.compute,
                 .point_to_point = done.length - done.if_links_were_free,
                 .gradient_sync = end.gradients - done.length,
                 .update = end.updated - end.gradients};
  const Bill bill = bill_of(plan);
  result.gpu_cost = bill.gpus() * result.iteration;
  result.traffic_cost = bill.traffic();
  return result;
}

SimulationResult JobSimulation::simulate(const GroupedPlan& plan) const {
  return simulate(
      plan, [](std::span<const StageTiming> stages, int microbatches) { return fast_step_time(stages, microbatches); });
}

SimulationResult JobSimulation::simulate_operations(const Plan& plan, const GroupedPlan& groups) const {
  if (is_too_long(groups) || uses_paper_formula(groups)) return simulate(groups, long_step_time);
  return result_of(step_timing(plan, groups), plan, groups);
}

SimulationResult JobSimulation::simulate(const GroupedPlan& plan, StepTime step_time) const {
  SAILOR_CHECK(!plan.stages.empty() && plan.microbatches > 0, "a plan of {} stages and {} microbatches",
               plan.stages.size(), plan.microbatches);
  if (uses_paper_formula(plan)) return paper_result(plan);
  const PlanLinks links(plan, cluster_, links_);
  std::vector<StageTiming> stages = stage_timings(plan, links);
  std::vector<StageMemory> memory = set_caps(plan, stages);
  const Passes done = passes(std::move(stages), plan, step_time);
  SimulationResult result = summarized(plan, done, synced(stage_ends(plan, links), done.length, done.tails));
  result.memory = std::move(memory);
  return result;
}

// Computes the same figures as simulate(), without those that only reports need. The rest of a step follows the passes
// and ends later if they take longer, so a lower bound on the passes gives a lower bound on the step.
std::optional<EstimateSummary> JobSimulation::fast_estimate_below(const Cutoff& cutoff, const GroupedPlan& plan) const {
  return estimate_below(cutoff, plan, fast_step_time);
}

std::optional<EstimateSummary> JobSimulation::estimate_below(const Cutoff& cutoff, const GroupedPlan& plan,
                                                             LimitedStepTime step_time) const {
  constexpr double kRounding = 1e-9;
  if (uses_paper_formula(plan)) return paper_estimate_below(cutoff, plan);
  const PlanLinks links(plan, cluster_, links_);
  std::vector<StageTiming> stages = stage_timings(plan, links);
  std::vector<StageTiming> changed;
  if (!is_executed_as_planned()) changed = executed(stages, plan);
  std::vector<StageTiming>& played = is_executed_as_planned() ? stages : changed;
  const double least = least_step_time(played) * (1 - kRounding);
  if (Seconds(least) >= cutoff.iteration) return std::nullopt;
  const std::vector<StageEnd> ends = stage_ends(plan, links);
  const std::vector<double> tails = tail_times(played);
  if (synced(ends, Seconds(least), tails).updated >= cutoff.iteration) return std::nullopt;
  const Bill bill = bill_of(plan);
  const DollarsPerHour price = bill.gpus();
  const Dollars traffic = bill.traffic();
  const auto estimated = [&](double passes) {
    const Seconds iteration = synced(ends, Seconds(passes), tails).updated;
    return EstimateSummary{iteration, price * iteration + traffic, Bytes(0)};
  };
  const EstimateSummary shortest = estimated(least);
  if (cutoff.is_reached_by(shortest)) return std::nullopt;
  Bytes excess(0);
  for (const StageMemory& stage : set_caps(plan, stages)) excess = std::max(excess, stage.excess());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (std::size_t g = 0; g < stages[i].groups.size(); ++g) played[i].groups[g].cap = stages[i].groups[g].cap;
  }
  // What follows the passes takes as long in every step.
  const double limit = (cutoff.iteration_with(price, traffic) - shortest.iteration).value() + least;
  EstimateSummary estimate = estimated(step_time(played, plan.microbatches, limit * (1 + kRounding)));
  if (cutoff.is_reached_by(estimate)) return std::nullopt;
  estimate.memory_excess = excess;
  estimate.expected_loss = counted_loss(plan, estimate.iteration, links);
  return estimate;
}

Bytes JobSimulation::state_of_layer(int layer) const {
  const ProfilePoint point{job_.training.microbatch_sizes.front(), 1};
  const bool recomputes = job_.training.activation_checkpointing == ActivationCheckpointing::kAlways;
  const MemoryBreakdown held = memory_of(tables_.needs(0, point, recomputes).range({layer, layer + 1}), {});
  return held.weights + held.optimizer;
}

Seconds JobSimulation::transfer(Bytes amount, int from_pool, int to_pool) const {
  return std::max(links_.between(from_pool, to_pool).transfer(amount),
                  links_.shared_occupancy(from_pool, to_pool, amount));
}

StageNeeds JobSimulation::stage_needs(const StageShape& shape) const {
  const RangeNeeds needs = tables_.needs(shape.pool, shape.point, shape.activation_checkpointing).range(shape.layers);
  const MemoryInputs inputs{shape.point.tensor_parallel, shape.optimizer_shards};
  // The Sailor paper's formula counts the update of one layer.
  const int update_parts = execution_.uses_paper_formula ? shape.layers.size() : shape.optimizer_shards;
  return {.forward = needs.forward,
          .backward = needs.backward,
          .update = needs.update / update_parts,
          .buckets = buckets(shape.layers),
          .fixed_memory = memory_of(needs, inputs).total(),
          .activation_memory = needs.activations,
          .capacity = usable_memory(tables_.accelerator(shape.pool), execution_.memory)};
}

}  // namespace sailor
