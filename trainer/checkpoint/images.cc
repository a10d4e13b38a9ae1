#include "trainer/checkpoint/images.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

std::vector<float> copied(const at::Tensor& flat, const std::vector<Block>& blocks) {
  const at::Tensor values = packed(flat, blocks).contiguous().cpu();
  const auto* data = values.const_data_ptr<float>();
  return {data, data + values.numel()};
}

at::Tensor seen(const std::vector<float>& values) {
  // Only read from; LibTorch has no view of constant memory.
  return at::from_blob(const_cast<float*>(values.data()), {std::ssize(values)}, at::kFloat);
}

}  // namespace

PieceImage image_of(const PieceState& state, const std::vector<Range>& kept, int writer) {
  const std::vector<Block> blocks = blocks_of(state.part, kept);
  return {.piece = state.part.id,
          .writer = writer,
          .ranges = kept,
          .weights = copied(state.weights, blocks),
          .momentum = copied(state.momentum, blocks),
          .variance = copied(state.variance, blocks)};
}

PieceState state_of(const Piece& part, const PieceImage& image) {
  SAILOR_CHECK(std::ssize(image.weights) == part.size, "piece {}: {} elements for {}", part.id, image.weights.size(),
               part.size);
  PieceState state = empty_state(part);
  state.weights.copy_(seen(image.weights));
  state.momentum.copy_(seen(image.momentum));
  state.variance.copy_(seen(image.variance));
  return state;
}

}  // namespace sailor::trainer
