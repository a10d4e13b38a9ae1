// Converts between the state in memory and the content of checkpoint files.
#pragma once

#include "trainer/checkpoint/shard_file.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// Copies these slices of the state, so that the state may change while the file is written.
SavedShard saved_shard_of(const LayerState& state, const std::vector<Slice>& kept, int writer);

// The inverse, for a saved shard that has exactly the elements of the shard in their order.
LayerState state_of(const StateLayout& shard, const SavedShard& saved);

}  // namespace sailor::trainer
