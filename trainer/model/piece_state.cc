#include "trainer/model/piece_state.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace sailor::trainer {
namespace {

constexpr double kInitialDeviation = 0.02;  // of GPT-2's authors; they divide the residual layers' by sqrt(2 blocks)

std::uint64_t mixed(std::uint64_t value) {  // splitmix64's finalizer: nearby seeds give unrelated streams
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

void fill(at::Tensor slice, const ModelSpec& spec, Initial initial, at::Generator& generator) {
  switch (initial) {
    case Initial::kNormal:
      slice.normal_(0, kInitialDeviation, generator);
      return;
    case Initial::kResidual:
      slice.normal_(0, kInitialDeviation / std::sqrt(2.0 * spec.blocks), generator);
      return;
    case Initial::kOnes:
      slice.fill_(1);
      return;
    case Initial::kZeros:
      slice.zero_();
      return;
  }
}

}  // namespace

PieceState empty_state(const Piece& piece) {
  const auto make = [&] { return at::empty({piece.size}, at::kFloat); };
  return {make(), make(), make()};
}

PieceState initial_state(const ModelSpec& spec, const Piece& piece, std::uint64_t seed) {
  PieceState state = empty_state(piece);
  const std::uint64_t stream = mixed(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(piece.id) + 1);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(stream);
  for (const Slice& slice : piece.slices) fill(view_of(state.weights, slice), spec, slice.initial, generator);
  state.momentum.zero_();
  state.variance.zero_();
  return state;
}

at::Tensor view_of(const at::Tensor& flat, const Slice& slice) {
  return flat.narrow(0, slice.offset, slice.size()).view(slice.shape);
}

}  // namespace sailor::trainer
