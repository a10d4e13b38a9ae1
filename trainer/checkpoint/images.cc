#include "trainer/checkpoint/images.h"

#include <cstring>

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace sailor::trainer {
namespace {

std::vector<float> copied(const at::Tensor& tensor) {
  const float* data = tensor.const_data_ptr<float>();
  return {data, data + tensor.numel()};
}

void copy_into(const std::vector<float>& values, at::Tensor& tensor) {
  std::memcpy(tensor.mutable_data_ptr<float>(), values.data(), values.size() * sizeof(float));
}

}  // namespace

PieceImage image_of(int piece, const PieceState& state) {
  return {.piece = piece,
          .weights = copied(state.weights),
          .momentum = copied(state.momentum),
          .variance = copied(state.variance)};
}

Result<PieceState> state_of(const Piece& piece, const PieceImage& image) {
  if (std::ssize(image.weights) != piece.size) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("piece {} of the checkpoint has {} elements, the model's has {}", piece.id,
                            image.weights.size(), piece.size));
  }
  PieceState state = empty_state(piece);
  copy_into(image.weights, state.weights);
  copy_into(image.momentum, state.momentum);
  copy_into(image.variance, state.variance);
  return state;
}

}  // namespace sailor::trainer
