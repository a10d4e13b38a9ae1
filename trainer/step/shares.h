// The shares of a parcel over its holders, as messages of equal length: what reduce-scatter and all-gather exchange.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/model/piece_state.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// Where each holder's share of the parcel lies in a part that holds the parcel.
std::vector<std::vector<Block>> blocks_of_shares(const Piece& part, const Parcel& parcel);

// Elements of the longest share: all are filled up to it.
std::int64_t longest_share(const std::vector<std::vector<Block>>& shares);

// All shares of a flat part, one after the other, and their way back.
at::Tensor packed_shares(const at::Tensor& flat, const std::vector<std::vector<Block>>& shares);
void unpack_shares(const at::Tensor& message, const at::Tensor& flat, const std::vector<std::vector<Block>>& shares);

}  // namespace sailor::trainer
