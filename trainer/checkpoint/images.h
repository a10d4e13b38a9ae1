// Between the state in memory and the images that a checkpoint is made of.
#pragma once

#include "trainer/checkpoint/image_file.h"
#include "trainer/model/piece_state.h"

namespace sailor::trainer {

// These ranges of the state, which the worker keeps; a copy: the state may change meanwhile.
PieceImage image_of(const PieceState& state, const std::vector<Range>& kept, int writer);

// The inverse, of an image that has exactly the part's elements in their order.
PieceState state_of(const Piece& part, const PieceImage& image);

}  // namespace sailor::trainer
