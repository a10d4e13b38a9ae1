// The only memory formula: the planner prunes with it, the simulator reports it, the status shows it.
#pragma once

#include "core/model/accelerator.h"
#include "core/model/estimate.h"
#include "core/model/execution_model.h"
#include "core/model/job_spec.h"
#include "simulator/layer_needs.h"

namespace sailor {

// Bytes per parameter that the replicas of a stage reduce-scatter and then all-gather. Gradients are summed in FP32 in
// every precision. With a sharded optimizer, the replicas gather the updated weights instead of the sums, in the
// precision of the passes.
struct SyncedBytes {
  double reduced = 4;
  double gathered = 4;
};
// Bytes per parameter of a peer replica: weights and moments; and the gradient that updates them, which is sent in
// every step.
inline constexpr double kPeerReplicaStateBytes = 12;
inline constexpr double kPeerReplicaGradientBytes = 4;

// The memory of a GPU without the margin. The usual margin and the usual context together cover what measured runs of
// other systems needed beside their tensors on GPUs of 24 GiB and more (simulator/README.md).
Bytes usable_memory(const AcceleratorSpec& accelerator, const MemoryOverheads& overheads);
// The context's memory in a tensor-parallel group of this size.
Bytes context_memory(int tensor_parallel, const MemoryOverheads& overheads);

SyncedBytes synced_bytes(Precision precision, bool sharded_optimizer);

// The inputs, besides its layers, on which the memory use of a GPU depends.
struct MemoryInputs {
  int tensor_parallel = 1;
  int optimizer_shards = 1;    // replicas that share the optimizer's state; 1: each has all of it
  int in_flight = 0;           // microbatches whose activations are kept
  double peer_parameters = 0;  // parameters of other nodes of which the GPU holds peer replicas (peer_replicas.h)
  Bytes messages;              // buffers of the messages from and to other stages
};

// Returns the memory that one GPU needs for these layers.
MemoryBreakdown stage_memory(const RangeNeeds& needs, const TrainingSpec& training, const MemoryOverheads& overheads,
                             const MemoryInputs& inputs);

}  // namespace sailor
