#include "trainer/weights/initial_weights.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

Result<PieceState> imported_state(const ModelFiles& files, const ModelSpec& spec, const Piece& part) {
  auto values = files.weights(part.id);
  if (!values) return tl::unexpected(values.error());
  const Piece whole = piece_of(spec, part.id);
  const at::Tensor flat = at::from_blob(values->data(), {whole.size}, at::kFloat);
  PieceState state = empty_state(part);
  state.weights.copy_(packed(flat, blocks_of(whole, ranges_of(part))));
  state.momentum.zero_();
  state.variance.zero_();
  return state;
}

}  // namespace sailor::trainer
