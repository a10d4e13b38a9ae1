// The Sailor paper's formula for the time of an iteration (section 4.2), as its public simulator computes it, kept
// beside ours to say where and why they differ. It knows pipelines of equal numbers of replicas, and neither latency
// nor overlap, and sends activations at the rate of all GPUs of a group.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "planner/model/estimate.h"
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

// The effects that make `ours` differ by more than a tenth, in one sentence; nothing if it does not.
std::optional<std::string> difference_from_paper(const Estimate& ours, const PaperTime& paper,
                                                 std::span<const StageTiming> stages);

}  // namespace sailor
