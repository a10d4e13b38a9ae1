#include "trainer/model/rotary.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace sailor::trainer {

at::Tensor RotaryEmbedding::rotated(const at::Tensor& x) {
  const bool fits = cosine_.defined() && cosine_.size(0) == x.size(2) && cosine_.scalar_type() == x.scalar_type();
  if (!fits) compute_tables(x);
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * cosine_ - halves[1] * sine_, halves[1] * cosine_ + halves[0] * sine_}, -1);
}

void RotaryEmbedding::compute_tables(const at::Tensor& x) {
  const at::NoGradGuard without_graph;
  const std::int64_t head_size = x.size(3);
  const at::TensorOptions in_float = x.options().dtype(at::kFloat);
  const at::Tensor exponents = at::arange(0, head_size, 2, in_float) / static_cast<double>(head_size);
  const at::Tensor angles = at::outer(at::arange(x.size(2), in_float), at::pow(theta_, -exponents));
  cosine_ = angles.cos().to(x.scalar_type());
  sine_ = angles.sin().to(x.scalar_type());
}

}  // namespace sailor::trainer
