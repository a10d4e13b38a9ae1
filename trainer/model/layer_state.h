// LayerState: the tensors of one shard of a layer state: weights and the optimizer's two moments. Each of the three is
// a flat FP32 tensor on the compute device. state_layout.h defines the words.
#pragma once

#include <cstdint>
#include <map>

#include <ATen/core/Tensor.h>

#include "trainer/model/shards.h"

namespace sailor::trainer {

struct LayerState {
  StateLayout layout;  // says which elements the shard has, and where they lie in the flat tensors
  at::Tensor weights;
  at::Tensor momentum;
  at::Tensor variance;
};

using LayerStates = std::map<int, LayerState>;  // keyed by id of the layer state

// Returns a state with uninitialized tensors. The caller fills them from a peer or a checkpoint.
LayerState empty_state(const StateLayout& shard);  // on the compute device
LayerState empty_state(const StateLayout& shard, at::Device device);

// Returns the shard of an initial state that depends only on the seed and the layer, so that every plan starts from the
// same weights.
LayerState initial_state(const ModelSpec& spec, const StateLayout& shard, std::uint64_t seed);

// Returns the tensor with this layout, in its shape. It shares the memory of the flat tensor.
at::Tensor view_of(const at::Tensor& flat, const TensorLayout& layout);

// Returns the rows of the span. They share the memory of the flat tensor.
at::Tensor view_of(const at::Tensor& flat, const StridedSpan& span);

// Returns the elements of the spans, one span after the other, as one flat tensor. It shares the memory of `flat` if
// there is a single contiguous span; otherwise it is a copy.
at::Tensor packed(const at::Tensor& flat, const std::vector<StridedSpan>& spans);

// Copies these elements to `message`, which is flat, has their number, and may be on another device. From a GPU to
// pinned host memory the function only starts the copy, as part of the work of the GPU.
void pack_into(const at::Tensor& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans);

// The inverse of packed(): copies the elements of a message to the spans. Does nothing if the message shares the
// memory.
void unpack(const at::Tensor& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans);

// Copies weights and moments of these slices from one shard to another. Both must contain the slices.
void copy_slices(const std::vector<Slice>& slices, const LayerState& from, const LayerState& to);

}  // namespace sailor::trainer
