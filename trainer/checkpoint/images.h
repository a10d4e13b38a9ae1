// Between the state in memory and the images that a checkpoint is made of.
#pragma once

#include "trainer/checkpoint/image_file.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// These slices of the state, which the worker keeps; a copy: the state may change meanwhile.
ShardImage image_of(const LayerState& state, const std::vector<Slice>& kept, int writer);

// The inverse, of an image that has exactly the shard's elements in their order.
LayerState state_of(const StateLayout& shard, const ShardImage& image);

}  // namespace sailor::trainer
