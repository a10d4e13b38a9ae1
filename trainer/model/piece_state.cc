#include "trainer/model/piece_state.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "trainer/device.h"

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

at::TensorOptions float_options() { return at::device(compute_device()).dtype(at::kFloat); }

at::Tensor placed(const at::Tensor& tensor) { return tensor.to(compute_device()); }

}  // namespace

PieceState empty_state(const Piece& part) {
  const auto make = [&] { return at::empty({part.size}, float_options()); };
  return {.part = part, .weights = make(), .momentum = make(), .variance = make()};
}

PieceState initial_state(const ModelSpec& spec, const Piece& part, std::uint64_t seed) {
  const Piece whole = piece_of(spec, part.id);
  const std::uint64_t stream = mixed(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(part.id) + 1);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(stream);
  const at::Tensor weights = at::empty({whole.size}, at::kFloat);  // drawn on the CPU: the same on every device
  for (const Slice& slice : whole.slices) fill(view_of(weights, slice), spec, slice.initial, generator);
  return {.part = part,
          .weights = placed(part == whole ? weights : packed(weights, blocks_of(whole, ranges_of(part))).clone()),
          .momentum = at::zeros({part.size}, float_options()),
          .variance = at::zeros({part.size}, float_options())};
}

at::Tensor view_of(const at::Tensor& flat, const Slice& slice) {
  return flat.narrow(0, slice.offset, slice.size()).view(slice.shape);
}

at::Tensor view_of(const at::Tensor& flat, const Block& block) {
  return flat.as_strided({block.rows, block.length}, {block.stride, 1}, flat.storage_offset() + block.offset);
}

at::Tensor packed(const at::Tensor& flat, const std::vector<Block>& blocks) {
  if (blocks.size() == 1 && blocks.front().rows == 1) return view_of(flat, blocks.front()).view({-1});
  std::vector<at::Tensor> views;
  for (const Block& block : blocks) views.push_back(view_of(flat, block).reshape({-1}));
  return views.empty() ? flat.new_empty({0}) : at::cat(views);
}

void unpack(const at::Tensor& message, const at::Tensor& flat, const std::vector<Block>& blocks) {
  if (message.is_alias_of(flat)) return;
  std::int64_t begin = 0;
  for (const Block& block : blocks) {
    const std::int64_t size = block.rows * block.length;
    view_of(flat, block).copy_(message.narrow(0, begin, size).view({block.rows, block.length}));
    begin += size;
  }
}

void copy_ranges(const std::vector<Range>& ranges, const PieceState& from, const PieceState& to) {
  const auto source = blocks_of(from.part, ranges);
  const auto target = blocks_of(to.part, ranges);
  unpack(packed(from.weights, source), to.weights, target);
  unpack(packed(from.momentum, source), to.momentum, target);
  unpack(packed(from.variance, source), to.variance, target);
}

}  // namespace sailor::trainer
