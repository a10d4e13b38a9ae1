#include "simulator/analytic_profile.h"

#include <algorithm>

#include "core/model/check.h"
#include "core/model/loss_chunk.h"

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
constexpr double kLossElement = 4;            // the loss is computed in FP32

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

// Linear layers keep their inputs, and attention keeps its inputs and its output. With rotary embeddings the output is
// copied once more. ReLU keeps its output, which is the input of the next layer; other activations keep their input,
// too.
double block_activations(const ModelSpec& model, const Shape& s) {
  const bool is_rotary = model.family == ModelFamily::kLlama;
  const double attention = 4 * s.hidden / s.token_shards + (is_rotary ? 5 : 4) * s.hidden / s.shards;
  const double of_ffn = model.is_gated() ? 4 : model.activation == Activation::kRelu ? 1 : 2;
  return s.element * s.length * (attention + of_ffn * s.ffn / s.shards);
}

// What the weights of the vocabulary are multiplied with, for each token.
double width_of_head(const ModelSpec& model) {
  return model.embedding_size > 0 ? model.embedding_size : model.hidden_size;
}

// A loss that is computed in chunks leaves its gradient. Otherwise the softmax is kept in FP32, and a group also keeps
// the shifted logits.
double head_activations(const ModelSpec& model, const Shape& s, LogitsInMemory logits) {
  const double inputs = s.element * (s.hidden + model.embedding_size) / s.token_shards;
  if (logits == LogitsInMemory::kChunk) return s.length * (inputs + s.element * width_of_head(model) / s.token_shards);
  return s.length * (inputs + kLossElement * (s.shards > 1 ? 2 : 1) * model.vocab_size / s.shards);
}

// Returns the bytes that one sequence's forward pass through the layer keeps.
double layer_activations(const ModelSpec& model, const Shape& s, int layer, LogitsInMemory logits) {
  switch (layer_kind(model, layer)) {
    case LayerKind::kEmbedding:
      return s.element * s.length * (s.hidden + model.embedding_size) / s.token_shards;
    case LayerKind::kBlock:
      return block_activations(model, s);
    case LayerKind::kHead:
      return head_activations(model, s, logits);
  }
  return 0;
}

// The gradient of a weight matrix exists beside the sum over the microbatches. In BF16 the gradients of a whole layer
// do, because they are added to a sum in FP32.
double block_workspace(const ModelSpec& model, const TrainingSpec& training, const Shape& s, int layer) {
  const double ffn = s.tokens * s.ffn / s.shards;
  const double weights = training.precision == Precision::kFp32
                             ? s.hidden * s.ffn / s.shards
                             : static_cast<double>(layer_parameters(model, layer)) / s.shards;
  const double gathered = training.uses_sequence_parallelism() && s.shards > 1 ? s.tokens * s.hidden : 0;
  return s.element * (ffn + std::max(ffn, weights) + gathered);
}

double token_embedding_weights(const ModelSpec& model, const Shape& s) {
  return model.vocab_size * width_of_head(model) / s.shards;
}

// The gradient of an embedding is dense. In BF16 it is summed in FP32 and then rounded.
double embedding_workspace(const ModelSpec& model, const TrainingSpec& training, const Shape& s) {
  const double per_weight = training.precision == Precision::kFp32 ? 4 : 6;
  const double reduced = s.shards > 1 ? s.element * s.tokens * s.hidden : 0;
  return per_weight * token_embedding_weights(model, s) + reduced;
}

// The logits of a chunk in FP32 with their softmax, or in a group with what they are converted from. In BF16 the
// softmax is then rounded, and the gradient of the weights that it gives is added to a sum in FP32.
double chunk_workspace(const ModelSpec& model, const Shape& s) {
  const auto chunk = static_cast<double>(
      tokens_of_loss_chunk(static_cast<std::int64_t>(s.tokens), model.vocab_size, static_cast<std::int64_t>(s.shards)));
  const double logits = chunk * model.vocab_size / s.shards;
  const double gathered = s.token_shards > 1 ? 2 * s.element * s.tokens * width_of_head(model) : 0;
  const double converted_from = s.element < kLossElement ? s.element : 0;
  const double softmax = (kLossElement + (s.shards > 1 ? converted_from : kLossElement)) * logits;
  if (converted_from == 0) return gathered + softmax;
  return gathered + std::max(softmax, s.element * (logits + token_embedding_weights(model, s)));
}

double head_workspace(const ModelSpec& model, const Shape& s, LogitsInMemory logits) {
  const double input = s.element * s.tokens * s.hidden;
  if (logits == LogitsInMemory::kChunk) return std::max(chunk_workspace(model, s), input / s.token_shards);
  const double gradients = kLossElement * (s.shards > 1 ? 1 : 2) * s.tokens * model.vocab_size / s.shards;
  return std::max(gradients, s.element * token_embedding_weights(model, s)) + input;
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

Bytes analytic_workspace(const ModelSpec& model, const TrainingSpec& training, ProfilePoint point, int layer,
                         LogitsInMemory logits) {
  const Shape s = shape_of(model, training, point);
  switch (layer_kind(model, layer)) {
    case LayerKind::kEmbedding:
      return Bytes(embedding_workspace(model, training, s));
    case LayerKind::kBlock:
      return Bytes(block_workspace(model, training, s, layer));
    case LayerKind::kHead:
      return Bytes(head_workspace(model, s, logits));
  }
  return {};
}

LayerMemory analytic_layer_memory(const ModelSpec& model, const TrainingSpec& training, int tensor_parallel, int layer,
                                  LogitsInMemory logits) {
  const Shape shape = shape_of(model, training, {1, tensor_parallel});
  return {.parameters = static_cast<double>(layer_parameters(model, layer)) / tensor_parallel,
          .activations_per_sample = Bytes(layer_activations(model, shape, layer, logits)),
          .output_per_sample = Bytes(shape.element * shape.length * shape.hidden)};
}

}  // namespace sailor
