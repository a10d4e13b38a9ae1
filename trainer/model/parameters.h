// Parameters: one piece made ready for a step: a differentiable view of each tensor, and one flat gradient.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "trainer/model/piece_state.h"

namespace sailor::trainer {

// The views share the state's memory, so an update of the flat state is an update of the parameters. Gradients are
// accumulated in place into `gradient`, which makes the sum over replicas one message a piece.
class Parameters {
 public:
  Parameters(Piece piece, const PieceState& state);

  [[nodiscard]] const at::Tensor& at(std::string_view name) const;
  [[nodiscard]] at::Tensor find(std::string_view name) const;  // undefined where the piece has no such tensor
  [[nodiscard]] const Piece& piece() const { return piece_; }
  [[nodiscard]] const at::Tensor& gradient() const { return gradient_; }
  [[nodiscard]] at::Tensor& gradient() { return gradient_; }

 private:
  Piece piece_;
  at::Tensor gradient_;
  std::map<std::string, at::Tensor, std::less<>> tensors_;
};

}  // namespace sailor::trainer
