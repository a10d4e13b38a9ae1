// Compares plans of a job with the Sailor paper's formula.
#include <algorithm>

#include "simulator/job_simulation.h"
#include "simulator/memory.h"

namespace sailor {

StageSync JobSimulation::sync_of(const GroupedPlan& plan, const GroupedStage& stage) const {
  const PlanLinks links(plan, cluster_, links_);
  const Sync parts = sync(plan, stage, links);
  return {parts.reduce + parts.gather, all_reduce(Bytes(0), links.ring_of(stage))};
}

PaperComparison JobSimulation::compared_with_paper(const TimeBreakdown& time, const GroupedPlan& plan) const {
  const PlanLinks links(plan, cluster_, links_);
  std::vector<StageTiming> stages = stage_timings(plan, links);
  // The formula assumes that all GPUs of a group send their part of a message at the same time.
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const std::size_t below = stages[i + 1].groups.size();
    for (std::size_t link = 0; link < stages[i].links.size(); ++link) {
      const std::size_t from = link / below;
      stages[i].links[link].occupancy /= plan.stages[i].groups[from].tensor_parallel;
    }
  }
  PaperTime paper{.passes = paper_passes(stages, plan.microbatches)};
  for (const GroupedStage& stage : plan.stages) {
    Ring flat{.members = stage.replicas(), .between = links.ring_of(stage).between};
    flat.between.latency = Seconds(0);
    const Bytes gradients(shard_parameters(plan, stage) * synced_bytes(job_.training.precision, false).reduced);
    paper.gradient_sync = std::max(paper.gradient_sync, ring_all_reduce(gradients, flat));
    for (const ReplicaGroup& group : stage.groups) {
      paper.update = std::max(paper.update, range_needs(plan, stage, group).update);
    }
  }
  return sailor::compared_with_paper(time, paper, stages);
}

}  // namespace sailor
