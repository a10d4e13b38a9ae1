// Applies the Sailor paper's formula to plans of a job.
#include <algorithm>

#include "simulator/job_simulation.h"
#include "simulator/memory.h"

namespace sailor {

StageSync JobSimulation::sync_of(const GroupedPlan& plan, const GroupedStage& stage) const {
  const PlanLinks links(plan, cluster_, links_);
  const Sync parts = sync(plan, stage, links);
  const bool is_at_an_end = &stage == &plan.stages.front() || &stage == &plan.stages.back();
  const Sync tied = is_at_an_end ? sync_of_tied_embedding(plan, links) : Sync{};
  return {parts.reduce + parts.gather + tied.reduce + tied.gather, summed(Bytes(0), links.ring_of(stage))};
}

PaperComparison JobSimulation::compared_with_paper(const TimeBreakdown& time, const GroupedPlan& plan) const {
  return sailor::compared_with_paper(time, paper_.time_of(plan), plan, execution_);
}

std::optional<EstimateSummary> JobSimulation::paper_estimate_below(const Cutoff& cutoff,
                                                                   const GroupedPlan& plan) const {
  const PlanLinks links(plan, cluster_, links_);
  const Seconds iteration = paper_.time_of(plan).total();
  const Bill bill = bill_of(plan);
  EstimateSummary estimate{iteration, bill.gpus() * iteration + bill.traffic(), Bytes(0)};
  if (cutoff.is_reached_by(estimate)) return std::nullopt;
  std::vector<StageTiming> stages = stage_timings(plan, links);
  for (const StageMemory& stage : set_caps(plan, stages)) {
    estimate.memory_excess = std::max(estimate.memory_excess, stage.excess());
  }
  estimate.expected_loss = counted_loss(plan, iteration, links);
  return estimate;
}

SimulationResult JobSimulation::paper_result(const GroupedPlan& plan) const {
  const PlanLinks links(plan, cluster_, links_);
  std::vector<StageTiming> stages = stage_timings(plan, links);
  std::vector<StageMemory> memory = set_caps(plan, stages);
  const PaperTime paper = paper_.time_of(plan);
  Passes done{.length = paper.passes, .compute = std::min(paper.passes, Seconds(longest_work(stages)))};
  done.if_links_were_free = paper.passes - paper.messages;
  done.compute = std::min(done.compute, done.if_links_were_free);
  const Seconds synced = paper.passes + paper.gradient_sync;
  SimulationResult result = summarized(plan, done, {synced, paper.total()});
  result.memory = std::move(memory);
  return result;
}

}  // namespace sailor
