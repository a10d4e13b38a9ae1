// PieceState: what a worker holds of one piece: weights and the optimizer's two moments, each flat and in FP32.
#pragma once

#include <cstdint>
#include <map>

#include <ATen/core/Tensor.h>

#include "trainer/model/shards.h"

namespace sailor::trainer {

struct PieceState {
  Piece part;  // which elements, and where they lie in the tensors
  at::Tensor weights;
  at::Tensor momentum;
  at::Tensor variance;
};

using PieceStates = std::map<int, PieceState>;  // by piece id

PieceState empty_state(const Piece& part);  // uninitialised memory, to be filled from a peer or a checkpoint

// A pure function of (seed, piece), cut to the part, so that every plan starts from the same weights.
PieceState initial_state(const ModelSpec& spec, const Piece& part, std::uint64_t seed);

// The slice as a tensor of its own shape that shares the flat tensor's memory.
at::Tensor view_of(const at::Tensor& flat, const Slice& slice);

// The block's rows, sharing the flat tensor's memory.
at::Tensor view_of(const at::Tensor& flat, const Block& block);

// Blocks one after the other as one message. Shares the flat tensor's memory where it is one stretch of it.
at::Tensor packed(const at::Tensor& flat, const std::vector<Block>& blocks);

// The inverse: puts a message's elements into their places; does nothing to one that shares the memory.
void unpack(const at::Tensor& message, const at::Tensor& flat, const std::vector<Block>& blocks);

// Of weights and moments, from one state of a piece to another; both have all of these ranges.
void copy_ranges(const std::vector<Range>& ranges, const PieceState& from, const PieceState& to);

}  // namespace sailor::trainer
