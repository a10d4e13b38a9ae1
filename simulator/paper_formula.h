// The Sailor paper's formula for the time of an iteration (section 4.2), as its public simulator computes it, held
// beside ours to say where and why they differ. It knows pipelines of equal numbers of replicas, and neither latency
// nor overlap, and sends activations at the rate of all GPUs of a group.
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
  Seconds gradient_sync;  // of the slowest stage, one flat ring of single GPUs' messages after all passes
  Seconds update;

  [[nodiscard]] Seconds total() const { return passes + gradient_sync + update; }
};

// Of the passes: N = M / D with D the fewest replicas of any stage, t_i of stage i's slowest replica.
Seconds paper_passes(std::span<const StageTiming> stages, int microbatches);

// The difference of both in parts, each as a phrase with its seconds and what the formula leaves out.
struct PaperComparison {
  PaperTime paper;
  std::vector<std::string> effects;  // of a hundredth of the paper's time and more
};
PaperComparison compared_with_paper(const TimeBreakdown& ours, const PaperTime& paper,
                                    std::span<const StageTiming> stages);

// One sentence, where `ours` differs by more than a tenth.
std::optional<std::string> note_of(const PaperComparison& comparison, Seconds ours);

}  // namespace sailor
