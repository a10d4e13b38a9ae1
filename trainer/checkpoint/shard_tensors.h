// Converts between the state in memory (tensors) and the content of a checkpoint file (SavedShard).
#pragma once

#include "trainer/checkpoint/shard_file.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// Copies these slices of the state, so that the state may change while the file is written. `writer` is the rank of
// this worker.
SavedShard saved_shard_of(const LayerState& state, const std::vector<Slice>& slices, int writer);

// Returns the saved shard as a state with the layout `shard`. The saved shard must have exactly the elements of this
// layout in the same order (assemble.h makes such a shard).
LayerState state_of(const StateLayout& shard, const SavedShard& saved);

}  // namespace sailor::trainer
