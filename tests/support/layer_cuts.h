// What a job could reach if every pipeline divided the layers in its own way, as Malleus (SIGMOD'25) does. In our plans
// all replicas of a stage have the same layers.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/support/slow_gpus.h"

namespace sailor::testing {

// The seconds of one block for one microbatch on each group of a pipeline.
using Pipeline = std::vector<double>;

// The pipelines of a job before any GPU is slow.
struct PipelineShape {
  int pipelines = 0;
  int stages = 0;
  int tensor_parallel = 0;
};

// Those of Malleus's public examples; with more GPUs, more pipelines.
inline PipelineShape pipelines_of(const LargeShape& model, int gpus) {
  const int tensor_parallel = model.name == "32B" ? 2 : 8;
  return {gpus / (4 * tensor_parallel), 4, tensor_parallel};
}

// The slowest stage and the sum of all stages if each group gets whole blocks and the slowest stage is as fast as
// possible.
struct DividedBlocks {
  double slowest = 0;
  double sum = 0;
};

inline DividedBlocks divided(const Pipeline& pipeline, int blocks) {
  // The slowest stage has a whole number of blocks on one of the groups.
  double slowest = std::numeric_limits<double>::infinity();
  for (const double group : pipeline) {
    for (int of_group = 1; of_group <= blocks; ++of_group) {
      const double limit = group * of_group;
      int all = 0;
      for (const double other : pipeline) all += static_cast<int>(limit / other + 1e-9);
      if (all >= blocks) slowest = std::min(slowest, limit);
    }
  }
  DividedBlocks result{slowest, 0};
  int left = blocks;
  Pipeline fastest_first = pipeline;
  std::ranges::sort(fastest_first);
  for (const double group : fastest_first) {
    const int taken = std::min(left, static_cast<int>(slowest / group + 1e-9));
    result.sum += group * taken;
    left -= taken;
  }
  return result;
}

// The least time of a step without messages and sums of gradients: a pipeline with m microbatches takes the sum of its
// stages and m - 1 times the slowest.
inline double least_step(const std::vector<Pipeline>& pipelines, int blocks, int microbatches) {
  std::vector<DividedBlocks> all;
  for (const Pipeline& pipeline : pipelines) all.push_back(divided(pipeline, blocks));
  double least = std::numeric_limits<double>::infinity();
  for (const DividedBlocks& one : all) {
    for (int m = 1; m <= microbatches; ++m) {
      const double limit = one.sum + (m - 1) * one.slowest;
      int done = 0;
      for (const DividedBlocks& other : all) {
        if (limit >= other.sum) done += 1 + static_cast<int>((limit - other.sum) / other.slowest + 1e-9);
      }
      if (done >= microbatches) least = std::min(least, limit);
    }
  }
  return least;
}

enum class SlowGroups { kKeep, kSplit, kSplitAndDrop };

// Replaces a group that has slow GPUs: keeps it at the speed of its slowest GPU, or splits its other GPUs into groups
// of powers of two, with the slow GPUs alone or without them. `seconds_of` returns the seconds of a block on a group of
// a size and a slowdown.
template <class SecondsOf>
void replace_group(Pipeline& pipeline, int size, const std::vector<double>& slow, SlowGroups how,
                   const SecondsOf& seconds_of) {
  const bool is_all = static_cast<int>(slow.size()) == size;
  if (how == SlowGroups::kKeep || (is_all && how == SlowGroups::kSplit)) {
    pipeline.back() = seconds_of(size, *std::ranges::max_element(slow));
    return;
  }
  pipeline.pop_back();
  int left = size - static_cast<int>(slow.size());
  for (int part = size; part >= 1; part /= 2) {
    for (; left >= part; left -= part) pipeline.push_back(seconds_of(part, 1));
  }
  if (how == SlowGroups::kSplitAndDrop) return;
  for (const double slowdown : slow) pipeline.push_back(seconds_of(1, slowdown));
}

// The time of a step with slow GPUs over that without, for the best choice of SlowGroups. Slow nodes are in different
// pipelines as far as possible.
template <class SecondsOf>
double ratio_with_layer_cuts(const LargeShape& model, const SlowSituation& situation, int microbatches,
                             const SecondsOf& seconds_of) {
  const PipelineShape shape = pipelines_of(model, situation.gpus);
  const Pipeline healthy(static_cast<std::size_t>(shape.stages), seconds_of(shape.tensor_parallel, 1));
  const std::vector<Pipeline> before(static_cast<std::size_t>(shape.pipelines), healthy);
  double best = std::numeric_limits<double>::infinity();
  for (const SlowGroups how : {SlowGroups::kKeep, SlowGroups::kSplit, SlowGroups::kSplitAndDrop}) {
    std::vector<Pipeline> after = before;
    std::size_t next = 0;
    for (const std::vector<double>& node : situation.nodes) {
      for (std::size_t first = 0; first < node.size(); first += static_cast<std::size_t>(shape.tensor_parallel)) {
        const auto end = std::min(node.size(), first + static_cast<std::size_t>(shape.tensor_parallel));
        Pipeline& pipeline = after[next++ % after.size()];
        // Healthy groups are last until they are replaced.
        std::ranges::rotate(pipeline, std::ranges::find(pipeline, healthy.front()) + 1);
        replace_group(
            pipeline, shape.tensor_parallel,
            {node.begin() + static_cast<std::ptrdiff_t>(first), node.begin() + static_cast<std::ptrdiff_t>(end)}, how,
            seconds_of);
      }
    }
    best = std::min(best, least_step(after, model.blocks, microbatches));
  }
  return best / least_step(before, model.blocks, microbatches);
}

}  // namespace sailor::testing
