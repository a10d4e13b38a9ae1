// The first state of a job that begins with a trained model's weights.
#pragma once

#include "trainer/model/piece_state.h"
#include "trainer/weights/model_files.h"

namespace sailor::trainer {

// The part of its piece, cut out of the files; the optimizer's moments are zero.
Result<PieceState> imported_state(const ModelFiles& files, const ModelSpec& spec, const Piece& part);

}  // namespace sailor::trainer
