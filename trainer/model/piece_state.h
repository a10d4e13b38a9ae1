// PieceState: the tensors of one piece: weights and the optimizer's two moments, each flat and in FP32.
#pragma once

#include <cstdint>
#include <map>

#include <ATen/core/Tensor.h>

#include "trainer/model/pieces.h"

namespace sailor::trainer {

struct PieceState {
  at::Tensor weights;
  at::Tensor momentum;
  at::Tensor variance;
};

using PieceStates = std::map<int, PieceState>;  // by piece id

PieceState empty_state(const Piece& piece);  // uninitialised memory, to be filled from a peer or a checkpoint

// A pure function of (seed, piece), so that every plan starts from the same weights.
PieceState initial_state(const ModelSpec& spec, const Piece& piece, std::uint64_t seed);

// The slice as a tensor of its own shape that shares the flat tensor's memory.
at::Tensor view_of(const at::Tensor& flat, const Slice& slice);

}  // namespace sailor::trainer
