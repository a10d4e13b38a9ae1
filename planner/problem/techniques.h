// MemorySavings: the techniques that a plan uses, in all its stages, to need less memory per GPU.
#pragma once

#include <compare>

namespace sailor {

struct MemorySavings {
  bool recomputes = false;        // activation checkpointing: backward passes recompute the activations
  bool shards_optimizer = false;  // the replicas of a stage share the optimizer's state (ZeRO stage 1)
  friend auto operator<=>(const MemorySavings&, const MemorySavings&) = default;
};

}  // namespace sailor
