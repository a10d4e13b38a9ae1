// The only memory formula: the planner prunes with it, the simulator reports it, the status shows it.
#pragma once

#include "core/model/estimate.h"
#include "core/model/job_spec.h"
#include "simulator/layer_costs.h"

namespace sailor {

// Bytes of each parameter that replicas sum up, and that they hand out again. Gradients are summed in FP32 in any
// precision; with a sharded optimizer it is the updated weights that are handed out, as passes compute with them.
struct SyncedBytes {
  double reduced = 4;
  double gathered = 4;
};
// Of a parameter that is copied for a peer: weights and moments, and the gradient that they follow.
inline constexpr double kPeerReplicaStateBytes = 12;
inline constexpr double kPeerReplicaGradientBytes = 4;

SyncedBytes synced_bytes(Precision precision, bool sharded_optimizer);

// What the memory of a GPU depends on besides its layers.
struct MemoryInputs {
  int tensor_parallel = 1;
  int optimizer_shards = 1;    // replicas that share the optimizer's state; 1: each has all of it
  int in_flight = 0;           // microbatches whose activations are kept
  double peer_parameters = 0;  // parameters of other nodes, of which it keeps copies (peer_replicas.h)
};

// Memory of one GPU that holds these layers.
MemoryBreakdown stage_memory(const RangeCost& cost, const TrainingSpec& training, const MemoryInputs& inputs);

}  // namespace sailor
