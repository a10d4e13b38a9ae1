// Pipeline time: how long the passes of a step take, by a closed form (the fast estimate of the design's schedule
// study). O(groups of replicas), whatever the number of GPUs.
#pragma once

#include <span>
#include <vector>

#include "core/model/small_vector.h"

namespace sailor {

// All times are in seconds.
struct GroupTiming {
  double forward = 0;
  double backward = 0;
  double occupancy = 0;  // how long a microbatch occupies the links to both neighbouring stages, in one direction
  int microbatches = 0;
  int count = 0;
  int cap = 1;  // microbatches in flight

  [[nodiscard]] double pass() const { return forward + backward; }
};

// A message from one group of a stage to one group of the next.
struct LinkTiming {
  double latency = 0;
  double occupancy = 0;
};

struct StageTiming {
  SmallVector<GroupTiming, 4> groups;
  SmallVector<LinkTiming, 4> links;  // [group * groups of the next stage + group of the next stage]
  double link = 0;                   // latency and occupancy of a message to the next stage; the mean over routes

  // Means over microbatches, filled in by set_means().
  double forward = 0;
  double backward = 0;
  double unevenness = 0;  // the mean pass if a neighbouring stage has other shares of microbatches, else 0

  [[nodiscard]] double pass() const { return forward + backward; }
  // The least time of a backward pass of any replica, and of a message to the next stage (0 in the last stage).
  [[nodiscard]] double fastest_backward() const;
  [[nodiscard]] double fastest_message() const;
};

// Computes the means of the stages, and GroupTiming::occupancy, from the groups and `links`.
void set_means(std::span<StageTiming> stages, int microbatches);

// Returns, for each stage, how long a microbatch spends in the later stages before its gradient returns.
std::vector<double> downstream_times(std::span<const StageTiming> stages);

// Returns the time that the busiest replica needs for its forward and backward passes.
double longest_work(std::span<const StageTiming> stages);

// Returns the time from the start of the step to its last backward pass, with the given part of the step's
// microbatches.
double pipeline_time(std::span<const StageTiming> stages, double part = 1);

// Returns, for each stage, how long before the step's last backward pass the stage completes its own last one.
std::vector<double> tail_times(std::span<const StageTiming> stages);

// Returns whether all replicas of all stages process the same number of microbatches.
bool has_equal_shares(std::span<const StageTiming> stages);

}  // namespace sailor
