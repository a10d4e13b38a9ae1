// Loads the initial state of a job that starts from the weights of a trained model (training.initialWeights).
#pragma once

#include "trainer/model/layer_state.h"
#include "trainer/weights/hugging_face_model.h"

namespace sailor::trainer {

// Reads the weights of the shard from the files. The optimizer's moments are zero.
Result<LayerState> load_pretrained_state(const HuggingFaceModel& files, const ModelSpec& spec,
                                         const StateLayout& shard);

}  // namespace sailor::trainer
