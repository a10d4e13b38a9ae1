// Techniques: the techniques that a plan uses in all its stages, to need less memory per GPU or to survive a lost node.
#pragma once

#include <compare>

namespace sailor {

struct Techniques {
  bool recomputes = false;           // activation checkpointing: backward passes recompute the activations
  bool shards_optimizer = false;     // the replicas of a stage share the optimizer's state (ZeRO stage 1)
  bool keeps_peer_replicas = false;  // another node also keeps state that only one node holds (Plan::peer_replicas)
  friend auto operator<=>(const Techniques&, const Techniques&) = default;
};

}  // namespace sailor
