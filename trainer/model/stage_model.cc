#include "trainer/model/stage_model.h"

#include <ranges>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "planner/model/check.h"
#include "trainer/model/layers.h"

namespace sailor::trainer {
namespace {

// A leaf of its own, so that backward ends here and leaves the gradient in it.
at::Tensor leaf(const at::Tensor& tensor) {
  at::Tensor detached = tensor.detach();
  if (at::isFloatingType(detached.scalar_type())) detached.requires_grad_();
  return detached;
}

}  // namespace

StageModel::StageModel(StageShape shape, const PieceStates& states) : shape_(std::move(shape)) {
  for (const int id : pieces_of_stage(shape_.spec, shape_.first_layer, shape_.last_layer)) {
    pieces_.try_emplace(id, piece_of(shape_.spec, id), states.at(id));
  }
}

at::Tensor StageModel::forward(int microbatch, const at::Tensor& input, const at::Tensor& targets) {
  const int step = shape_.recompute ? 1 : shape_.last_layer - shape_.first_layer;
  Kept kept{.segments = {}, .targets = targets};
  at::Tensor x = input;
  for (int layer = shape_.first_layer; layer < shape_.last_layer; layer += step) {
    Segment segment{layer, layer + step, leaf(x), {}};
    at::AutoGradMode with_graph(!shape_.recompute);
    x = run(segment, targets);
    if (!shape_.recompute) segment.output = x;
    kept.segments.push_back(std::move(segment));
  }
  const bool is_new = kept_.emplace(microbatch, std::move(kept)).second;
  SAILOR_CHECK(is_new, "microbatch {} went forward twice", microbatch);
  return x.detach();
}

at::Tensor StageModel::backward(int microbatch, const at::Tensor& output_gradient) {
  auto node = kept_.extract(microbatch);
  SAILOR_CHECK(!node.empty(), "microbatch {} goes backward before it went forward", microbatch);
  Kept& kept = node.mapped();
  at::Tensor gradient = output_gradient;
  for (Segment& segment : std::views::reverse(kept.segments)) {
    const at::Tensor output = segment.output.defined() ? segment.output : run(segment, kept.targets);
    torch::autograd::backward({output}, {gradient});
    gradient = segment.input.grad();
    segment = {};
  }
  return gradient;
}

void StageModel::clear_gradients() {
  kept_.clear();
  for (auto& [id, piece] : pieces_) piece.gradient().zero_();
}

at::Tensor StageModel::layer_forward(int layer, const at::Tensor& input, const at::Tensor& targets) const {
  const LayerKind kind = layer_kind(shape_.spec, layer);
  if (kind == LayerKind::kEmbedding) {
    return embedding_forward(shape_.spec, pieces_.at(kTokenEmbedding), find(kPositions), input);
  }
  const Parameters& piece = pieces_.at(piece_of_layer(layer));
  if (kind == LayerKind::kBlock) return block_forward(shape_.spec, layer, piece, input);
  const Parameters* tokens = shape_.spec.tied_embeddings ? find(kTokenEmbedding) : nullptr;
  return head_loss(shape_.spec, piece, tokens, input, targets);
}

at::Tensor StageModel::run(const Segment& segment, const at::Tensor& targets) const {
  at::Tensor x = segment.input;
  for (int layer = segment.first_layer; layer < segment.last_layer; ++layer) x = layer_forward(layer, x, targets);
  return x;
}

const Parameters* StageModel::find(int piece) const {
  const auto found = pieces_.find(piece);
  return found == pieces_.end() ? nullptr : &found->second;
}

}  // namespace sailor::trainer
