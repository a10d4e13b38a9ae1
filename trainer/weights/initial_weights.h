// The first state of a job that begins with a trained model's weights.
#pragma once

#include "trainer/model/layer_state.h"
#include "trainer/weights/hugging_face_model.h"

namespace sailor::trainer {

// The shard of its layer state, cut out of the files; the optimizer's moments are zero.
Result<LayerState> load_pretrained_state(const HuggingFaceModel& files, const ModelSpec& spec,
                                         const StateLayout& shard);

}  // namespace sailor::trainer
