// Rotary position embedding: rotates each pair (x_i, x_{i + D/2}) of a head by the token's position times a frequency
// that decreases with i (Su et al., "RoFormer", 2021).
#pragma once

#include <ATen/core/Tensor.h>

namespace sailor::trainer {

// The tables of cosines and sines are computed once, and again only for another number of tokens or another type.
class RotaryEmbedding {
 public:
  explicit RotaryEmbedding(double theta) : theta_(theta) {}

  // `x` has the shape (B, heads, T, D). Its tokens begin at position 0.
  [[nodiscard]] at::Tensor rotated(const at::Tensor& x);

 private:
  void compute_tables(const at::Tensor& x);

  double theta_;
  at::Tensor cosine_;  // (T, D / 2)
  at::Tensor sine_;
};

}  // namespace sailor::trainer
