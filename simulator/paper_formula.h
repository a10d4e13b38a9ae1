// The Sailor paper's formula for the time of an iteration (section 4.2), as its public simulator computes it. A
// comparison with ours says where and why they differ. The formula assumes equal numbers of replicas in all stages, has
// neither latency nor overlap, and sends activations at the rate of all GPUs of a group.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/estimate.h"
#include "simulator/pipeline_time.h"

namespace sailor {

struct PaperTime {
  Seconds passes;         // (N - 1) max_i t_i + sum_i t_i, transfers included
  Seconds gradient_sync;  // the slowest stage: one flat ring of messages between single GPUs, after all passes
  Seconds update;

  [[nodiscard]] Seconds total() const { return passes + gradient_sync + update; }
};

// PaperTime::passes: N = M / D, where D is the smallest number of replicas of any stage, and t_i is the time of the
// slowest replica of stage i.
Seconds paper_passes(std::span<const StageTiming> stages, int microbatches);

// The difference between the paper's time and the simulator's time, divided into effects. Each effect is a phrase that
// names its seconds and the thing that the formula leaves out.
struct PaperComparison {
  PaperTime paper;
  std::vector<std::string> effects;  // the effects of at least a hundredth of the paper's time
};
PaperComparison compared_with_paper(const TimeBreakdown& ours, const PaperTime& paper,
                                    std::span<const StageTiming> stages);

// Returns one sentence if `ours` differs from the paper's time by more than a tenth, or else nothing.
std::optional<std::string> note_of(const PaperComparison& comparison, Seconds ours);

}  // namespace sailor
