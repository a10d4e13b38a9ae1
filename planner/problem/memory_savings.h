// MemorySavings: what a whole plan does to need less memory per GPU.
#pragma once

#include <compare>

namespace sailor {

struct MemorySavings {
  bool recomputes = false;        // activation checkpointing: backward passes compute the activations of blocks again
  bool shards_optimizer = false;  // the replicas of a stage share the optimizer's state (ZeRO stage 1)
  friend auto operator<=>(const MemorySavings&, const MemorySavings&) = default;
};

}  // namespace sailor
