// The Sailor paper's formula for the time of an iteration (section 4.2), as its public simulator computes it. It
// reproduces the times that the simulator recorded for the plans of its own planner (simulator/README.md). The formula
// assumes equal numbers of replicas in all stages, has neither latency nor overlap, and sends activations at the rate
// of all GPUs of a group.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/network_model.h"
#include "planner/problem/grouped_plan.h"
#include "simulator/job_tables.h"
#include "simulator/message_rates.h"
#include "simulator/pool_links.h"

namespace sailor {

struct PaperTime {
  Seconds passes;         // (N - 1) max_i t_i + sum_i t_i, messages included
  Seconds messages;       // by how much longer `passes` is than without messages
  Seconds gradient_sync;  // the slowest stage: one flat ring of messages between single GPUs, after all passes
  Seconds update;         // of one layer: the slowest stage's mean

  [[nodiscard]] Seconds total() const { return passes + gradient_sync + update; }
};

class PaperFormula {
 public:
  // All arguments but the cluster must outlive it.
  PaperFormula(const ClusterState& cluster, const NetworkModel& network, const PoolLinks& links,
               const MessageRates& messages, const JobTables& tables);

  // Whether the formula describes the plan: all stages have equally many replicas, with even shares of microbatches.
  [[nodiscard]] static bool can_express(const GroupedPlan& plan);

  // If the formula cannot express the plan, every stage counts as having as many replicas as the one with the fewest.
  [[nodiscard]] PaperTime time_of(const GroupedPlan& plan) const;

 private:
  // The time of a microbatch in a stage. t_i is the slowest replica's pass and the messages of the stage.
  struct StageTime {
    Seconds pass;
    Seconds down;  // the message to the next stage
    Seconds up;    // the message back from it
  };
  [[nodiscard]] std::vector<StageTime> stage_times(const GroupedPlan& plan) const;
  [[nodiscard]] RangeNeeds needs(const GroupedPlan& plan, const GroupedStage& stage, const ReplicaGroup& group) const;
  void add_messages(const GroupedPlan& plan, std::size_t stage, StageTime& time) const;
  [[nodiscard]] Seconds message(Bytes size, const ReplicaGroup& from, const ReplicaGroup& to) const;
  [[nodiscard]] Seconds gradient_sync(const GroupedPlan& plan, const GroupedStage& stage) const;
  [[nodiscard]] Seconds ring(Bytes size, int members, int pool, int other) const;

  std::size_t pools_;
  std::vector<const BandwidthCurve*> ring_curves_;  // [pool][pool]; null: not measured
  const PoolLinks& links_;
  const MessageRates& messages_;
  const JobTables& tables_;
};

// The difference between the paper's time and the simulator's time, divided into effects. Each effect is a phrase that
// names its seconds and the difference between the formula and the execution model.
struct PaperComparison {
  PaperTime paper;
  std::vector<std::string> effects;  // the effects of at least a hundredth of the paper's time
};
PaperComparison compared_with_paper(const TimeBreakdown& ours, const PaperTime& paper, const GroupedPlan& plan,
                                    const ExecutionModel& execution);

// Returns one sentence if `ours` differs from the paper's time by more than a tenth, or else nothing.
std::optional<std::string> note_of(const PaperComparison& comparison, Seconds ours);

}  // namespace sailor
