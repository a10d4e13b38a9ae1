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

// The difference of both, divided into effects. Each is a phrase with its seconds and what the formula leaves out.
struct PaperComparison {
  PaperTime paper;
  std::vector<std::string> effects;  // the effects of at least a hundredth of the paper's time
};
PaperComparison compared_with_paper(const TimeBreakdown& ours, const PaperTime& paper,
                                    std::span<const StageTiming> stages);

// One sentence, if `ours` differs by more than a tenth.
std::optional<std::string> note_of(const PaperComparison& comparison, Seconds ours);

}  // namespace sailor
