// JobSimulation: time, memory and cost of any plan of one job on one cluster. All that the simulator says is said here.
#pragma once

#include <vector>

#include "core/schedule/caps.h"
#include "core/schedule/schedule.h"
#include "planner/problem/estimator.h"
#include "simulator/bill.h"
#include "simulator/job_tables.h"
#include "simulator/memory.h"
#include "simulator/paper_formula.h"
#include "simulator/pipeline_time.h"
#include "simulator/plan_links.h"
#include "simulator/step_timing.h"

namespace sailor {

// The worst replica of a stage, by how much of its GPU's memory it takes.
struct StageMemory {
  MemoryBreakdown use;
  Bytes capacity;
  int pool = 0;
  int tensor_parallel = 1;

  [[nodiscard]] Bytes excess() const { return use.total() - capacity; }
};

// The gradient sync of a stage, whether passes hide a part of it or not.
struct StageSync {
  Seconds whole;
  Seconds latency;  // what it would take at unlimited bandwidth
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
  JobSimulation(const JobSpec& job, const ClusterState& cluster, const NetworkModel& network, JobTables tables,
                SchedulePolicy policy);

  [[nodiscard]] SimulationResult simulate(const GroupedPlan& plan) const;
  [[nodiscard]] std::optional<EstimateSummary> fast_estimate_below(const Cutoff& cutoff,
                                                                   const GroupedPlan& plan) const override;
  [[nodiscard]] std::optional<EstimateSummary> simulated_below(const Cutoff& cutoff,
                                                               const GroupedPlan& plan) const override;
  [[nodiscard]] Bytes state_of_layer(int layer) const override;
  [[nodiscard]] Seconds transfer(Bytes amount, int from_pool, int to_pool) const override;
  // What the copies cost that peers keep of the state, where the job asks for them.
  [[nodiscard]] std::optional<std::string> note_of_peer_replicas(const GroupedPlan& plan) const;
  [[nodiscard]] StageCost stage_cost(const StageShape& shape) const override;
  [[nodiscard]] Seconds least_reduction(const StageShape& shape, int replicas) const override;
  [[nodiscard]] Seconds least_finish(const StageShape& shape, Seconds reduction,
                                     Seconds longest_backward) const override;
  [[nodiscard]] LinkRange link_range(const StageShape& shape, bool in_one_node) const override;
  [[nodiscard]] MessageTime least_message(const StageShape& shape, int to_pool, bool in_one_node) const override;
  // What the plan's schedule is made from, capped as the policy has it; `groups` is `plan`, grouped.
  [[nodiscard]] ScheduleTimes schedule_times(const Plan& plan, const GroupedPlan& groups) const;
  // The same plan operation by operation.
  [[nodiscard]] StepTiming step_timing(const Plan& plan, const GroupedPlan& groups) const;
  // What simulate() says, with the times of `step`, which play() returned.
  [[nodiscard]] SimulationResult result_of(const StepTiming& step, const Plan& plan, const GroupedPlan& groups) const;
  // Of a stage of the plan.
  [[nodiscard]] StageSync sync_of(const GroupedPlan& plan, const GroupedStage& stage) const;
  // What the Sailor paper's formula says of this plan, beside `time`, which this simulator says.
  [[nodiscard]] PaperComparison compared_with_paper(const TimeBreakdown& time, const GroupedPlan& plan) const;
  [[nodiscard]] Bill bill_of(const GroupedPlan& plan) const { return {plan, job_, cluster_, tables_, links_}; }
  [[nodiscard]] const JobTables& tables() const { return tables_; }
  [[nodiscard]] const PoolLinks& links() const { return links_; }
  [[nodiscard]] const JobSpec& job() const { return job_; }
  [[nodiscard]] const ClusterState& cluster() const { return cluster_; }

 private:
  struct Passes {
    Seconds length;   // to the last backward pass
    Seconds compute;  // the busiest replica
    Seconds if_links_were_free;
    std::vector<double> tails;
  };
  struct InFlightInputs {
    double little = 0;         // microbatches that Little's law asks for
    int stages_from_here = 0;  // to the last, this one included
    bool is_textbook = false;
    Bytes room;         // what is left of a GPU's memory for activations
    Bytes activations;  // of one microbatch
  };
  // Of a stage's gradients, whatever passes hide of it.
  struct Sync {
    Seconds reduce;
    Seconds gather;
  };
  // What a stage does after its passes.
  struct StageEnd {
    Seconds reduce;  // of its gradients, in so many buckets that follow the last backward pass
    int buckets = 1;
    Seconds last_backward;
    Seconds update;
    Seconds gather;  // of the updated weights, where the optimizer is sharded; and of what peers' copies follow
  };
  struct Synced {
    Seconds gradients;  // when the last stage would be done without updates, after the step's start
    Seconds updated;
  };

  [[nodiscard]] RangeCost range_cost(const GroupedPlan& plan, const GroupedStage& stage,
                                     const ReplicaGroup& group) const;
  [[nodiscard]] Bytes message_after(const GroupedPlan& plan, const GroupedStage& stage) const;
  [[nodiscard]] std::vector<StageTiming> stage_timings(const GroupedPlan& plan, const PlanLinks& links) const;
  void add_links(const GroupedPlan& plan, const PlanLinks& links, std::vector<StageTiming>& stages) const;
  [[nodiscard]] int wanted_in_flight(const InFlightInputs& question) const;
  std::vector<StageMemory> set_caps(const GroupedPlan& plan, std::vector<StageTiming>& stages) const;
  [[nodiscard]] int memory_cap(const RangeCost& cost, int pool, const MemoryInputs& inputs, int microbatches) const;
  [[nodiscard]] ScheduleTimes times_of(const Plan& plan, const GroupedPlan& groups, const PlanLinks& links) const;
  [[nodiscard]] std::vector<LinkTimes> links_between(std::span<const int> pools, const PlanLinks& links,
                                                     Bytes message) const;
  [[nodiscard]] static Execution execution(std::span<const StageEnd> ends);
  [[nodiscard]] static std::vector<Nanoseconds> deadlines(Seconds most, std::span<const StageEnd> ends,
                                                          std::span<const StageTiming> stages);
  [[nodiscard]] Passes passes(std::vector<StageTiming> stages, int microbatches) const;
  [[nodiscard]] std::vector<StageEnd> stage_ends(const GroupedPlan& plan, const PlanLinks& links) const;
  [[nodiscard]] double shard_parameters(const GroupedPlan& plan, const GroupedStage& stage) const;
  [[nodiscard]] Sync sync(const GroupedPlan& plan, const GroupedStage& stage, const PlanLinks& links) const;
  [[nodiscard]] StageEnd stage_end(const GroupedPlan& plan, const GroupedStage& stage, const PlanLinks& links) const;
  void add_peer_replicas(const GroupedPlan& plan, const PlanLinks& links, std::vector<StageEnd>& ends) const;
  [[nodiscard]] std::vector<double> peer_parameters(const GroupedPlan& plan) const;
  [[nodiscard]] SimulationResult summarized(const GroupedPlan& plan, const Passes& done, const Synced& end) const;
  [[nodiscard]] static Synced synced(std::span<const StageEnd> ends, Seconds passes, std::span<const double> tails);

  const JobSpec& job_;
  const ClusterState& cluster_;
  PoolLinks links_;
  JobTables tables_;
  SchedulePolicy policy_;
};

}  // namespace sailor
