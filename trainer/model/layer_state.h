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

LayerState empty_state(const StateLayout& shard);  // uninitialized; filled from a peer or a checkpoint

// Returns the shard of an initial state that depends only on the seed and the layer, so that every plan starts from the
// same weights.
LayerState initial_state(const ModelSpec& spec, const StateLayout& shard, std::uint64_t seed);

// Returns the tensor with this layout, in its shape. It shares the memory of the flat tensor.
at::Tensor view_of(const at::Tensor& flat, const TensorLayout& layout);

// Returns the rows of the span. They share the memory of the flat tensor.
at::Tensor view_of(const at::Tensor& flat, const StridedSpan& span);

// Returns the spans as one message, one after the other. A single contiguous span shares the memory of the flat tensor.
at::Tensor packed(const at::Tensor& flat, const std::vector<StridedSpan>& spans);

// The inverse: copies the elements of a message to the spans. Does nothing if the message shares the memory.
void unpack(const at::Tensor& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans);

// Copies weights and moments of these slices, which both shards must contain.
void copy_slices(const std::vector<Slice>& slices, const LayerState& from, const LayerState& to);

}  // namespace sailor::trainer
