#include "simulator/memory.h"

namespace sailor {
namespace {

// Bytes of a parameter. With BF16, weights have a master copy in FP32, and gradients of the microbatches are summed in
// FP32 all the same. Departure from the paper (24 bytes, section 4.1): DeepSpeed's four bytes of further copies are not
// ours.
struct ParameterBytes {
  double weights = 4;
  double gradients = 4;
  double optimizer = 8;      // AdamW's two moments
  double communication = 4;  // the flat buckets that gradients are all-reduced in
};

ParameterBytes parameter_bytes(Precision precision) {
  if (precision == Precision::kBf16) return {.weights = 2, .gradients = 4, .optimizer = 12, .communication = 2};
  return {};
}

// What the driver, the libraries and the allocator hold before the first tensor, by the paper's measurement.
constexpr double kContextGibibytes = 2;
constexpr double kGroupContextGibibytes = 3;  // with communicators of a tensor-parallel group

}  // namespace

MemoryBreakdown stage_memory(const RangeCost& cost, const TrainingSpec& training, const Holding& holding) {
  const ParameterBytes bytes = parameter_bytes(training.precision);
  const Bytes context = gibibytes(holding.tensor_parallel > 1 ? kGroupContextGibibytes : kContextGibibytes);
  return {.weights = Bytes(cost.parameters * bytes.weights),
          .gradients = Bytes(cost.parameters * bytes.gradients),
          .optimizer = Bytes(cost.parameters * bytes.optimizer / holding.optimizer_shards),
          .communication = Bytes(cost.parameters * bytes.communication),
          .activations = cost.activations * holding.in_flight,
          .workspace = context + cost.largest_layer};
}

}  // namespace sailor
