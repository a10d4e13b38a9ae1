// LayerState: the tensors of one shard of a layer state: weights and the optimizer's two moments, each flat and in
// FP32.
#pragma once

#include <cstdint>
#include <map>

#include <ATen/core/Tensor.h>

#include "trainer/model/shards.h"

namespace sailor::trainer {

struct LayerState {
  StateLayout layout;  // which elements, and where they lie in the tensors
  at::Tensor weights;
  at::Tensor momentum;
  at::Tensor variance;
};

using LayerStates = std::map<int, LayerState>;  // by layer state id

LayerState empty_state(const StateLayout& shard);  // uninitialised memory, to be filled from a peer or a checkpoint

// The shard of a state that depends on the seed and the layer only, so that every plan starts from the same weights.
LayerState initial_state(const ModelSpec& spec, const StateLayout& shard, std::uint64_t seed);

// The tensor of this layout, in its own shape. It shares the memory of the flat tensor.
at::Tensor view_of(const at::Tensor& flat, const TensorLayout& layout);

// The rows of the span. They share the memory of the flat tensor.
at::Tensor view_of(const at::Tensor& flat, const StridedSpan& span);

// The spans one after the other as one message. A single contiguous span shares the memory of the flat tensor.
at::Tensor packed(const at::Tensor& flat, const std::vector<StridedSpan>& spans);

// The inverse: puts a message's elements into their places; does nothing to one that shares the memory.
void unpack(const at::Tensor& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans);

// Copies weights and moments of these slices, which both shards must contain.
void copy_slices(const std::vector<Slice>& slices, const LayerState& from, const LayerState& to);

}  // namespace sailor::trainer
