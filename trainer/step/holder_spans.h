// Splits a transfer unit over its holders, for reduce-scatter and all-gather. These collectives need messages of equal
// length.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/model/layer_state.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// Returns where the slices of each holder (slices_of_holder) lie in a shard that contains the unit.
std::vector<std::vector<StridedSpan>> spans_by_holder(const StateLayout& shard, const TransferUnit& unit);

// Returns the number of elements of the longest message. The other messages are padded to this length.
std::int64_t longest_message(const std::vector<std::vector<StridedSpan>>& spans_by_holder);

// packed_messages() copies the messages of all holders from a flat shard into one tensor, one after the other.
// unpack_messages() copies them back.
at::Tensor packed_messages(const at::Tensor& flat, const std::vector<std::vector<StridedSpan>>& spans_by_holder);
void unpack_messages(const at::Tensor& message, const at::Tensor& flat,
                     const std::vector<std::vector<StridedSpan>>& spans_by_holder);

}  // namespace sailor::trainer
