// JobSimulation: time, memory and cost of every plan of one job on one cluster. Simulator only prepares the tables and
// formats the results.
//
// The member functions are defined in job_simulation.cc (fast estimate), job_step_timing.cc (operation by operation),
// job_peer_replicas.cc, job_paper_comparison.cc and job_bounds.cc (lower bounds for the proof).
#pragma once

#include <cmath>
#include <vector>

#include "core/schedule/caps.h"
#include "core/schedule/schedule.h"
#include "planner/problem/estimator.h"
#include "simulator/bill.h"
#include "simulator/fast_step_time.h"
#include "simulator/job_tables.h"
#include "simulator/memory.h"
#include "simulator/paper_formula.h"
#include "simulator/pipeline_time.h"
#include "simulator/plan_links.h"
#include "simulator/step_timing.h"

namespace sailor {

// The memory of the replica of a stage that has the least memory left.
struct StageMemory {
  MemoryBreakdown use;
  Bytes capacity;
  int pool = 0;
  int tensor_parallel = 1;

  [[nodiscard]] Bytes excess() const { return use.total() - capacity; }
};

// The time of a stage's gradient sync, including the part that passes hide.
struct StageSync {
  Seconds whole;
  Seconds latency;  // the same at unlimited bandwidth
};

struct SimulationResult {
  Seconds iteration;
  TimeBreakdown time;
  std::vector<StageMemory> memory;
  Dollars gpu_cost;
  Dollars traffic_cost;
};

class JobSimulation final : public JobEstimator {
 public:
  // The job, the cluster and the network must outlive it.
  JobSimulation(const JobSpec& job, const ClusterState& cluster, const NetworkModel& network, JobTables tables,
                ExecutionModel execution);

  // Returns the fast estimate.
  [[nodiscard]] SimulationResult simulate(const GroupedPlan& plan) const;
  // Returns the same with the times of a simulation operation by operation, or, if the step has too many passes, of its
  // beginning. Here and below, `groups` is grouped(plan).
  [[nodiscard]] SimulationResult simulate_operations(const Plan& plan, const GroupedPlan& groups) const;
  [[nodiscard]] static bool is_too_long(const GroupedPlan& plan) {
    return static_cast<std::int64_t>(plan.stages.size()) * 2 * plan.microbatches > kMostSimulatedPasses;
  }
  [[nodiscard]] std::optional<EstimateSummary> fast_estimate_below(const Cutoff& cutoff,
                                                                   const GroupedPlan& plan) const override;
  [[nodiscard]] std::optional<EstimateSummary> simulated_below(const Cutoff& cutoff,
                                                               const GroupedPlan& plan) const override;
  [[nodiscard]] Bytes state_of_layer(int layer) const override;
  [[nodiscard]] Seconds transfer(Bytes amount, int from_pool, int to_pool) const override;
  [[nodiscard]] ExpectedLoss loss_of(const GroupedPlan& plan, Seconds iteration) const;
  // Returns a sentence about the memory and traffic of peer replicas, or nothing if the plan keeps none.
  [[nodiscard]] std::optional<std::string> note_of_peer_replicas(const GroupedPlan& plan) const;
  [[nodiscard]] StageNeeds stage_needs(const StageShape& shape) const override;
  [[nodiscard]] Seconds least_reduction(const StageShape& shape, int replicas) const override;
  [[nodiscard]] LinkRange link_range(const StageShape& shape, bool in_one_node) const override;
  [[nodiscard]] MessageTime least_message(const StageShape& shape, int to_pool, bool in_one_node) const override;
  // Returns the times from which the plan's schedule is made, with the policy's caps on microbatches in flight.
  [[nodiscard]] ScheduleTimes schedule_times(const Plan& plan, const GroupedPlan& groups) const;
  // Simulates the step operation by operation, however long it is.
  [[nodiscard]] StepTiming step_timing(const Plan& plan, const GroupedPlan& groups) const;
  // Returns the same as simulate(), but with the times of `step`, which step_timing() has returned for this plan.
  [[nodiscard]] SimulationResult result_of(const StepTiming& step, const Plan& plan, const GroupedPlan& groups) const;
  [[nodiscard]] StageSync sync_of(const GroupedPlan& plan, const GroupedStage& stage) const;
  // Compares `time`, which this simulator computed for the plan, with the Sailor paper's formula.
  [[nodiscard]] PaperComparison compared_with_paper(const TimeBreakdown& time, const GroupedPlan& plan) const;
  [[nodiscard]] Bill bill_of(const GroupedPlan& plan) const { return {plan, job_, cluster_, {tables_, links_}}; }
  [[nodiscard]] const JobTables& tables() const { return tables_; }
  [[nodiscard]] const PoolLinks& links() const { return links_; }
  [[nodiscard]] const JobSpec& job() const { return job_; }
  [[nodiscard]] const ClusterState& cluster() const { return cluster_; }

 private:
  struct Passes {
    Seconds length;   // the time to the last backward pass
    Seconds compute;  // the compute time of the busiest replica
    Seconds if_links_were_free;
    std::vector<double> tails;  // one entry per stage: tail_times()
  };
  // The times of a stage's reduce-scatter and all-gather, including the part that passes hide.
  struct Sync {
    Seconds reduce;
    Seconds gather;
  };
  // The work of a stage after its passes.
  struct StageEnd {
    Seconds reduce;  // reduces its gradients in `buckets` that follow the last backward pass one by one
    int buckets = 1;
    Seconds last_backward;
    Seconds update;
    Seconds gather;  // gathers the updated weights if the optimizer is sharded, and sends to backup holders
    Seconds tied;    // sums the gradients of a tied embedding with the other stage that holds it
  };
  // Times after the start of the step.
  struct Synced {
    Seconds gradients;  // when the last stage would be done without updates
    Seconds updated;    // when it is done
  };

  // The parts in which a stage with these layers sums its gradients.
  [[nodiscard]] int buckets(LayerRange layers) const { return execution_.sums_beside_passes ? layers.size() : 1; }
  [[nodiscard]] RangeNeeds range_needs(const GroupedPlan& plan, const GroupedStage& stage,
                                       const ReplicaGroup& group) const;
  [[nodiscard]] Bytes message_after(const GroupedPlan& plan, const GroupedStage& stage) const;
  [[nodiscard]] std::vector<StageTiming> stage_timings(const GroupedPlan& plan, const PlanLinks& links) const;
  void add_links(const GroupedPlan& plan, const PlanLinks& links, std::vector<StageTiming>& stages) const;
  // The part of a message over this boundary that its sender waits for.
  [[nodiscard]] double held_part(const GroupedPlan& plan, std::size_t boundary) const;
  // Returns the same stages with the passes and links that the execution model makes of them: the part of messages that
  // passes wait for makes these longer and occupies no link. The caps of microbatches in flight stay.
  [[nodiscard]] std::vector<StageTiming> executed(std::vector<StageTiming> stages, const GroupedPlan& plan) const;
  [[nodiscard]] bool is_executed_as_planned() const {
    return execution_.messages_beside_passes && !std::isfinite(execution_.send_buffer.value());
  }
  std::vector<StageMemory> set_caps(const GroupedPlan& plan, std::vector<StageTiming>& stages) const;
  // The inputs for a GPU of the stage that has no microbatch in flight. `peer_parameters` are those of the stage.
  [[nodiscard]] MemoryInputs memory_inputs(const GroupedPlan& plan, std::size_t stage, int tensor_parallel,
                                           double peer_parameters) const;
  [[nodiscard]] MemoryBreakdown memory_of(const RangeNeeds& needs, const MemoryInputs& inputs) const {
    return stage_memory(needs, job_.training, execution_.memory, inputs);
  }
  // Returns how many microbatches in flight fit in the memory of the pool's GPUs. The result is at least one, so that a
  // plan that does not fit can be simulated.
  [[nodiscard]] int most_in_flight(const RangeNeeds& needs, int pool, const MemoryInputs& inputs) const;
  [[nodiscard]] ScheduleTimes times_of(const Plan& plan, const GroupedPlan& groups, const PlanLinks& links) const;
  // The same times as the execution model makes of them. The schedule is made from those of times_of().
  [[nodiscard]] ScheduleTimes executed(ScheduleTimes times, const Plan& plan, const GroupedPlan& groups,
                                       const PlanLinks& links) const;
  [[nodiscard]] std::vector<LinkTimes> links_between(std::span<const MessageEnd> ends, const PlanLinks& links,
                                                     Bytes message) const;
  [[nodiscard]] Execution execution(const GroupedPlan& plan, std::span<const StageEnd> ends) const;
  // The schedule that the execution model makes of the plan, or nothing if some stage certainly cannot finish its
  // passes by its deadline. `deadlines` has one entry a stage, or is empty.
  [[nodiscard]] std::optional<Schedule> schedule_within(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                                        const ScheduleTimes& times) const;
  [[nodiscard]] static std::vector<Nanoseconds> deadlines(Seconds most, std::span<const StageEnd> ends,
                                                          std::span<const StageTiming> stages);
  using StepTime = double (*)(std::span<const StageTiming> stages, int microbatches);
  [[nodiscard]] SimulationResult simulate(const GroupedPlan& plan, StepTime step_time) const;
  [[nodiscard]] Passes passes(std::vector<StageTiming> stages, const GroupedPlan& plan, StepTime step_time) const;
  using LimitedStepTime = double (*)(std::span<const StageTiming> stages, int microbatches, double limit);
  [[nodiscard]] std::optional<EstimateSummary> estimate_below(const Cutoff& cutoff, const GroupedPlan& plan,
                                                              LimitedStepTime step_time) const;
  [[nodiscard]] bool uses_paper_formula(const GroupedPlan& plan) const {
    return execution_.uses_paper_formula && PaperFormula::can_express(plan);
  }
  [[nodiscard]] std::optional<EstimateSummary> paper_estimate_below(const Cutoff& cutoff,
                                                                    const GroupedPlan& plan) const;
  [[nodiscard]] SimulationResult paper_result(const GroupedPlan& plan) const;
  [[nodiscard]] std::vector<StageEnd> stage_ends(const GroupedPlan& plan, const PlanLinks& links) const;
  [[nodiscard]] const LayerNeeds& layer_needs(const GroupedPlan& plan, const ReplicaGroup& group) const {
    return tables_.needs(group.pool, {plan.microbatch_size, group.tensor_parallel}, plan.techniques.recomputes);
  }
  [[nodiscard]] double summed_parameters(const GroupedPlan& plan, const GroupedStage& stage) const;
  [[nodiscard]] Seconds summed(Bytes size, const Ring& ring) const;
  [[nodiscard]] Sync sync(const GroupedPlan& plan, const GroupedStage& stage, const PlanLinks& links) const;
  [[nodiscard]] Sync sync_of_tied_embedding(const GroupedPlan& plan, const PlanLinks& links) const;
  [[nodiscard]] Sync sync_of(double parameters, const GroupedPlan& plan, const Ring& ring) const;
  [[nodiscard]] StageEnd stage_end(const GroupedPlan& plan, const GroupedStage& stage, const PlanLinks& links) const;
  void add_peer_replicas(const GroupedPlan& plan, const PlanLinks& links, std::vector<StageEnd>& ends) const;
  // EstimateSummary::expected_loss.
  [[nodiscard]] double counted_loss(const GroupedPlan& plan, Seconds iteration, const PlanLinks& links) const;
  [[nodiscard]] std::vector<double> peer_parameters(const GroupedPlan& plan) const;
  [[nodiscard]] SimulationResult summarized(const GroupedPlan& plan, const Passes& done, const Synced& end) const;
  [[nodiscard]] static Synced synced(std::span<const StageEnd> ends, Seconds passes, std::span<const double> tails);

  const JobSpec& job_;
  const ClusterState& cluster_;
  PoolLinks links_;
  JobTables tables_;
  ExecutionModel execution_;
  MessageRates messages_;
  PaperFormula paper_;
};

}  // namespace sailor
