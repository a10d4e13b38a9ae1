#include "simulator/analytic_profile.h"

#include "core/model/check.h"

namespace sailor {
namespace {

// The part of the data sheet's peaks that kernels reach. tests/planner/analytic_profiles_test.cc compares the resulting
// times with those of measured GPUs.
constexpr double kMatmulEfficiency = 0.6;
constexpr double kMemoryEfficiency = 0.8;
constexpr Seconds kLaunch(5e-6);              // the launch of one kernel
constexpr int kKernelsOfBlock = 15;           // forward; norms, matrix products, softmax, activation, residuals
constexpr double kScorePasses = 3;            // reads and writes of the attention scores: product, softmax, product
constexpr double kUpdateBytes = 200;          // moved for a parameter by AdamW, applied operator by operator
constexpr Seconds kCollectiveLatency(20e-6);  // the latency of one all-reduce inside a node

// Work of one microbatch in one pass through a layer, on one GPU of the group.
struct LayerWork {
  Flops matmul;
  Bytes moved;    // the bytes moved by everything except matrix products
  Bytes reduced;  // summed over the group
  int reductions = 0;
  int kernels = 0;
};

struct Shape {
  double tokens = 0;  // the tokens of a microbatch
  double length = 0;  // the length of a sequence
  double hidden = 0;
  double kv_width = 0;
  double ffn = 0;
  double shards = 1;
  double token_shards = 1;  // outside the linear layers of a group; equals `shards` with sequence parallelism
  double element = 4;
};

Shape shape_of(const ModelSpec& model, const TrainingSpec& training, ProfilePoint point) {
  return {.tokens = static_cast<double>(point.microbatch_size) * training.sequence_length,
          .length = static_cast<double>(training.sequence_length),
          .hidden = static_cast<double>(model.hidden_size),
          .kv_width = static_cast<double>(model.kv_heads) * model.head_size(),
          .ffn = static_cast<double>(model.ffn_size),
          .shards = static_cast<double>(point.tensor_parallel),
          .token_shards = training.uses_sequence_parallelism() ? static_cast<double>(point.tensor_parallel) : 1,
          .element = element_size(training.precision)};
}

LayerWork block_work(const ModelSpec& model, const Shape& s) {
  const double ffn_matrices = model.is_gated() ? 3 : 2;
  const double weights = 2 * s.hidden * (s.hidden + s.kv_width) + ffn_matrices * s.hidden * s.ffn;
  const double scores = s.tokens * s.length * model.heads;
  LayerWork work;
  work.matmul = Flops(s.tokens * (2 * weights + 4 * s.length * s.hidden) / s.shards);
  const double elementwise =
      s.tokens * (10 * s.hidden / s.token_shards + 2 * (2 * s.hidden + ffn_matrices * s.ffn) / s.shards);
  work.moved = Bytes(s.element * (elementwise + kScorePasses * scores / s.shards));
  work.reduced = Bytes(s.element * s.tokens * s.hidden);
  work.reductions = 2;  // one after attention and one after the feed-forward layer
  work.kernels = kKernelsOfBlock;
  return work;
}

LayerWork embedding_work(const Shape& s) {
  LayerWork work;
  work.moved = Bytes(s.element * s.tokens * 4 * s.hidden);
  work.reduced = Bytes(s.element * s.tokens * s.hidden);
  work.reductions = 1;
  work.kernels = 4;
  return work;
}

LayerWork head_work(const ModelSpec& model, const Shape& s) {
  const double vocabulary = model.vocab_size;
  LayerWork work;
  work.matmul = Flops(s.tokens * 2 * s.hidden * vocabulary / s.shards);
  work.moved = Bytes(s.element * s.tokens * (4 * s.hidden / s.token_shards + 4 * vocabulary / s.shards));
  work.reduced = Bytes(4 * s.tokens * 2);  // the maximum and the sum of every token's softmax
  work.reductions = 1;
  work.kernels = 8;
  return work;
}

LayerWork work_of(const ModelSpec& model, const Shape& shape, int layer) {
  switch (layer_kind(model, layer)) {
    case LayerKind::kEmbedding:
      return embedding_work(shape);
    case LayerKind::kBlock:
      return block_work(model, shape);
    case LayerKind::kHead:
      return head_work(model, shape);
  }
  return {};
}

Seconds group_reductions(const LayerWork& work, const AcceleratorSpec& accelerator, double shards) {
  if (shards <= 1) return Seconds(0);
  const Seconds ring = work.reduced * (2 * (shards - 1) / shards) / accelerator.peer_bandwidth;
  return (ring + kCollectiveLatency) * work.reductions;
}

// A kernel overlaps its loads with its arithmetic, but matrix products and elementwise passes are different kernels, so
// their times add up.
Seconds pass_time(const LayerWork& work, const AcceleratorSpec& accelerator, Precision precision) {
  const FlopsPerSecond peak = precision == Precision::kBf16 ? accelerator.bf16 : accelerator.fp32;
  return work.matmul / (peak * kMatmulEfficiency) + work.moved / (accelerator.memory_bandwidth * kMemoryEfficiency) +
         kLaunch * work.kernels;
}

// Computes the gradients of inputs and of weights: two products for each product of the forward pass. Elementwise
// operations read the saved input and the gradient, and write one gradient.
LayerWork backward_of(LayerWork work) {
  work.matmul = work.matmul * 2;
  work.moved = work.moved * 3;
  work.kernels *= 2;
  return work;
}

double block_activations(const ModelSpec& model, const Shape& s) {
  const double attention = 4 * s.hidden / s.token_shards + (2 * s.hidden + 2 * s.kv_width) / s.shards;
  const double feed_forward = (model.is_gated() ? 4 : 2) * s.ffn / s.shards;
  return s.length * (attention + feed_forward);
}

double layer_activations(const ModelSpec& model, const Shape& s, int layer) {
  switch (layer_kind(model, layer)) {
    case LayerKind::kEmbedding:
      return s.length * s.hidden / s.token_shards;
    case LayerKind::kBlock:
      return block_activations(model, s);
    case LayerKind::kHead:
      return s.length * (2 * s.hidden / s.token_shards + 2 * static_cast<double>(model.vocab_size) / s.shards);
  }
  return 0;
}

}  // namespace

double element_size(Precision precision) { return precision == Precision::kBf16 ? 2 : 4; }

LayerTime analytic_layer_time(const ModelSpec& model, const TrainingSpec& training, const AcceleratorSpec& accelerator,
                              ProfilePoint point, int layer) {
  const LayerWork work = work_of(model, shape_of(model, training, point), layer);
  const Seconds reductions = group_reductions(work, accelerator, point.tensor_parallel);
  const Seconds forward = pass_time(work, accelerator, training.precision) + reductions;
  const Seconds backward = pass_time(backward_of(work), accelerator, training.precision) + reductions;
  const double parameters = static_cast<double>(layer_parameters(model, layer)) / point.tensor_parallel;
  const Bytes updated(parameters * kUpdateBytes);
  return {forward, backward, updated / (accelerator.memory_bandwidth * kMemoryEfficiency)};
}

LayerMemory analytic_layer_memory(const ModelSpec& model, const TrainingSpec& training, int tensor_parallel,
                                  int layer) {
  const Shape shape = shape_of(model, training, {1, tensor_parallel});
  return {.parameters = static_cast<double>(layer_parameters(model, layer)) / tensor_parallel,
          .activations_per_sample = Bytes(shape.element * layer_activations(model, shape, layer)),
          .output_per_sample = Bytes(shape.element * shape.length * shape.hidden)};
}

}  // namespace sailor
