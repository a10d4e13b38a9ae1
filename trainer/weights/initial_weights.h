// The first state of a job that begins with a trained model's weights.
#pragma once

#include "trainer/model/layer_state.h"
#include "trainer/weights/model_files.h"

namespace sailor::trainer {

// The shard of its layer state, cut out of the files; the optimizer's moments are zero.
Result<LayerState> imported_state(const ModelFiles& files, const ModelSpec& spec, const StateLayout& shard);

}  // namespace sailor::trainer
