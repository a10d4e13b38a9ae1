#include "simulator/memory.h"

#include "simulator/analytic_profile.h"

namespace sailor {
namespace {

// Bytes per parameter that a worker of the trainer holds. With BF16, the weights have a master copy in FP32, which the
// optimizer updates; gradients are summed in FP32 in every precision. With a sharded optimizer, in every precision, the
// master copy is separate from the weights, and the summed gradients of a worker's share are separate from the
// gradients of its own microbatches. Departure from the paper (24 bytes, section 4.1): DeepSpeed keeps four bytes of
// further copies, the trainer does not.
struct ParameterBytes {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double communication = 0;  // buffers of the gradient sums
};

ParameterBytes parameter_bytes(Precision precision, int optimizer_shards) {
  constexpr double kFloat = 4;
  constexpr double kMoments = 2 * kFloat;  // AdamW's
  const bool is_sharded = optimizer_shards > 1;
  const double master = precision == Precision::kBf16 || is_sharded ? kFloat : 0;
  return {.weights = element_size(precision),
          .gradients = kFloat + (is_sharded ? kFloat / optimizer_shards : 0),
          .optimizer = (master + kMoments) / optimizer_shards,
          .communication = kFloat};
}

}  // namespace

Bytes usable_memory(const AcceleratorSpec& accelerator, const MemoryOverheads& overheads) {
  return accelerator.memory * (1 - overheads.margin);
}

Bytes context_memory(int tensor_parallel, const MemoryOverheads& overheads) {
  if (overheads.context) return *overheads.context;
  constexpr double kContextGibibytes = 2;
  constexpr double kGroupContextGibibytes = 3;  // includes the communicators of the group
  return gibibytes(tensor_parallel > 1 ? kGroupContextGibibytes : kContextGibibytes);
}

SyncedBytes synced_bytes(Precision precision, bool sharded_optimizer) {
  SyncedBytes bytes;
  if (sharded_optimizer) bytes.gathered = element_size(precision);
  return bytes;
}

MemoryBreakdown stage_memory(const RangeNeeds& needs, const TrainingSpec& training, const MemoryOverheads& overheads,
                             const MemoryInputs& inputs) {
  const ParameterBytes bytes = parameter_bytes(training.precision, inputs.optimizer_shards);
  const Bytes peer_state = Bytes(inputs.peer_parameters * kPeerReplicaStateBytes);
  return {.weights = Bytes(needs.parameters * bytes.weights),
          .gradients = Bytes(needs.parameters * bytes.gradients + inputs.peer_parameters * kPeerReplicaGradientBytes),
          .optimizer = Bytes(needs.parameters * bytes.optimizer) + peer_state,
          .communication =
              Bytes(needs.parameters * (bytes.communication + overheads.bytes_per_parameter)) + inputs.messages,
          .activations = needs.activations * inputs.in_flight,
          .workspace = context_memory(inputs.tensor_parallel, overheads) + needs.workspace};
}

}  // namespace sailor
