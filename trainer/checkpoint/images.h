// Between the state in memory and the images that a checkpoint is made of.
#pragma once

#include "trainer/checkpoint/files.h"
#include "trainer/model/piece_state.h"

namespace sailor::trainer {

PieceImage image_of(int piece, const PieceState& state);  // a copy: the state may change meanwhile
Result<PieceState> state_of(const Piece& piece, const PieceImage& image);

}  // namespace sailor::trainer
