#include "trainer/model/stage_model.h"

#include <ranges>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/model/check.h"
#include "core/model/loss_chunk.h"

namespace sailor::trainer {
namespace {

// Returns a leaf of the autograd graph: the backward pass ends here and leaves the gradient in it.
at::Tensor leaf(const at::Tensor& tensor) {
  at::Tensor detached = tensor.detach();
  if (at::isFloatingType(detached.scalar_type())) detached.requires_grad_();
  return detached;
}

// The rows that a vocabulary lacks to a multiple with which GPUs multiply BF16 matrices fast, in elements.
std::int64_t padding_of(const StateLayout& shard) {
  constexpr std::int64_t kFastMultiple = 64;
  if (shard.tensors.empty()) return 0;
  const TensorLayout& last = shard.tensors.back();
  if (last.name != "tokens.weight" && last.name != "output.weight") return 0;
  const std::int64_t rows = last.shape[0];
  return ((rows + kFastMultiple - 1) / kFastMultiple * kFastMultiple - rows) * last.shape[1];
}

// Weights of the model's own are the only ones that can be padded.
at::Tensor computed_weights(const StateLayout& shard, const LayerState& state, Precision precision) {
  if (precision == Precision::kFp32 && state.layout == shard) return state.weights;
  const std::int64_t padding = precision == Precision::kBf16 ? padding_of(shard) : 0;
  const at::Tensor weights =
      at::empty({shard.size + padding}, state.weights.options().dtype(scalar_type_of(precision)));
  weights.narrow(0, shard.size, padding).zero_();
  return weights;
}

}  // namespace

at::ScalarType scalar_type_of(Precision precision) {
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
}

StageModel::StageModel(StageShape shape, const LayerStates& states, TensorParallel group)
    : shape_(std::move(shape)), context_{shape_.spec, group} {
  for (const int id : layer_states_of_stage(shape_.spec, shape_.first_layer, shape_.last_layer)) {
    const StateLayout whole = layout_of(shape_.spec, id);
    const StateLayout shard = shard_of(whole, shard_slices(whole, group.rank()));
    parameters_.try_emplace(id, shard, computed_weights(shard, states.at(id), shape_.precision));
  }
}

at::Tensor StageModel::forward(int microbatch, const at::Tensor& input, const LossTargets& targets) {
  Activations activations;
  at::Tensor x = input;
  for (int layer = shape_.first_layer; layer < shape_.last_layer; ++layer) {
    Segment segment{layer, leaf(x), {}};
    const at::AutoGradMode with_graph(!is_recomputed(layer));
    x = layer_forward(layer, segment.input);
    if (!is_recomputed(layer)) segment.output = x;
    activations.segments.push_back(std::move(segment));
  }
  if (shape_.has_head()) {
    LossWithGradient result = head_loss(x, targets);
    activations.loss_gradient = std::move(result.gradient);
    x = std::move(result.loss);
  }
  const bool is_new = activations_.emplace(microbatch, std::move(activations)).second;
  SAILOR_CHECK(is_new, "microbatch {} went forward twice", microbatch);
  return x.detach();
}

at::Tensor StageModel::infer(const at::Tensor& input, const at::Tensor& targets) const {
  const at::NoGradGuard without_graph;
  at::Tensor x = input;
  for (int layer = shape_.first_layer; layer < shape_.last_layer; ++layer) x = layer_forward(layer, x);
  if (!shape_.has_head()) return x;
  return loss_of(group(), output_weights(), x, targets, tokens_of_loss_chunk(targets));
}

at::Tensor StageModel::backward(int microbatch, const at::Tensor& output_gradient,
                                const std::function<void(int layer)>& on_layer) {
  auto node = activations_.extract(microbatch);
  SAILOR_CHECK(!node.empty(), "microbatch {} goes backward before it went forward", microbatch);
  Activations& activations = node.mapped();
  at::Tensor gradient = shape_.has_head() ? activations.loss_gradient : output_gradient;
  for (Segment& segment : std::views::reverse(activations.segments)) {
    const at::Tensor output = segment.output.defined() ? segment.output : layer_forward(segment.layer, segment.input);
    torch::autograd::backward({output}, {gradient});
    gradient = segment.input.grad();
    collect_gradients(segment.layer);
    if (on_layer) on_layer(segment.layer);
    segment = {};
  }
  return gradient;
}

void StageModel::clear_gradients() {
  activations_.clear();
  for (auto& [id, parameters] : parameters_) parameters.gradient().zero_();
}

std::vector<int> StageModel::layer_states_complete_after(int layer) const {
  if (layer == 0)
    return parameters_.contains(kPositions) ? std::vector{kPositions, kTokenEmbedding} : std::vector{kTokenEmbedding};
  std::vector<int> layer_states = {layer_state_of(layer)};
  const bool is_tied_head = layer_kind(shape_.spec, layer) == LayerKind::kHead && parameters_.contains(kTokenEmbedding);
  if (is_tied_head && !shape_.has_embedding()) layer_states.push_back(kTokenEmbedding);
  return layer_states;
}

at::Tensor StageModel::layer_forward(int layer, const at::Tensor& input) const {
  const LayerKind kind = layer_kind(shape_.spec, layer);
  if (kind == LayerKind::kEmbedding) {
    return embedding_forward(context_, parameters_.at(kTokenEmbedding), find(kPositions), input);
  }
  const Parameters& parameters = parameters_.at(layer_state_of(layer));
  if (kind == LayerKind::kBlock) return block_forward(context_, layer, parameters, input);
  return head_forward(context_, parameters, input);
}

LossWithGradient StageModel::head_loss(const at::Tensor& hidden, const LossTargets& targets) const {
  return loss_with_gradient(group(), output_weights(), hidden, targets, tokens_of_loss_chunk(targets.tokens));
}

OutputWeights StageModel::output_weights() const {
  const Parameters* tokens = shape_.spec.tied_embeddings ? find(kTokenEmbedding) : nullptr;
  return trainer::output_weights(parameters_.at(layer_state_of(shape_.spec.layer_count() - 1)), tokens);
}

std::int64_t StageModel::tokens_of_loss_chunk(const at::Tensor& targets) const {
  return sailor::tokens_of_loss_chunk(targets.numel(), shape_.spec.vocab_size, group().rank().tensor_parallel);
}

bool StageModel::is_recomputed(int layer) const {
  return shape_.recompute && layer_kind(shape_.spec, layer) == LayerKind::kBlock;
}

// Collects the gradients of every layer state that the layer may have used.
void StageModel::collect_gradients(int layer) {
  if (shape_.precision == Precision::kFp32) return;
  for (auto& [id, parameters] : parameters_) {
    if (id == layer_state_of(layer) || id == kTokenEmbedding || id == kPositions) parameters.collect_gradients();
  }
}

const Parameters* StageModel::find(int layer_state) const {
  const auto found = parameters_.find(layer_state);
  return found == parameters_.end() ? nullptr : &found->second;
}

}  // namespace sailor::trainer
