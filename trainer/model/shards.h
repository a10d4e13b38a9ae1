// Shards and transfer units (the words are defined in state_layout.h), without tensors.
//
//   layout of a layer state --shard_slices--> slices of one worker --shard_of--> layout of its shard
//   layouts of several shards --transfer_units_of--> slices that are summed, moved and saved together
//
// The layout of a shard has the same type as that of a layer state: its tensors have the shapes of the slices.
// Therefore all code for layer states also works for shards of any tensor-parallel size and of a sharded optimizer.
#pragma once

#include <compare>
#include <optional>

#include "trainer/model/state_layout.h"

namespace sailor::trainer {

// A worker's place in its tensor-parallel group.
struct TensorParallelRank {
  int index = 0;
  int tensor_parallel = 1;
  friend bool operator==(const TensorParallelRank&, const TensorParallelRank&) = default;
};

// Rows or columns [begin, end) of one tensor of a layer state, along its cut.
struct Slice {
  int tensor = 0;  // TensorLayout::index
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend auto operator<=>(const Slice&, const Slice&) = default;
};

// The slices that a worker of a tensor-parallel group computes with: one slice of each tensor that the group splits,
// all of the others. Grains are distributed as evenly as possible; the number of workers need not divide them, and a
// worker that gets no grain of a tensor has no slice of it.
std::vector<Slice> shard_slices(const StateLayout& whole, TensorParallelRank place);

// Returns the k-th of n nearly equal parts of a slice; it can be empty. A sharded optimizer divides slices over its n
// holders in this way.
Slice subslice(const Slice& slice, int k, int n);

// Returns the layout of the shard that consists of these slices, in this order, without empty ones.
StateLayout shard_of(const StateLayout& whole, const std::vector<Slice>& slices);

// The inverse: returns the slices of a shard, or of a whole layer state.
std::vector<Slice> slices_of(const StateLayout& shard);

// Returns the number of elements of the slice.
std::int64_t size_of(const StateLayout& whole, const Slice& slice);

// Where a slice lies in the flat tensor of a shard: `rows` rows of `length` elements, the first at `offset`, each
// `stride` after the one before. Read row by row, a slice is the same sequence of elements in every shard that holds
// it.
struct StridedSpan {
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  friend bool operator==(const StridedSpan&, const StridedSpan&) = default;
};

// Returns nothing unless one tensor of the shard contains the whole slice.
std::optional<StridedSpan> span_of(const StateLayout& shard, const Slice& slice);

// Returns the spans of these slices in this order; adjacent spans are merged. The shard must contain all slices.
std::vector<StridedSpan> spans_of(const StateLayout& shard, const std::vector<Slice>& slices);

// Slices that the same shards contain entirely, and of which the other shards contain nothing.
struct TransferUnit {
  int layer_state = 0;
  std::vector<int> holders;   // indices of the shards, ascending
  std::vector<Slice> slices;  // ascending
  std::int64_t elements = 0;  // of all slices
  friend bool operator==(const TransferUnit&, const TransferUnit&) = default;
};

// Cuts a layer state wherever a slice of any shard begins or ends. Every element is in exactly one unit; the elements
// that no shard contains form a unit without holders. The units are in the order of their first slices. Each slice lies
// within one tensor of every shard that contains it.
std::vector<TransferUnit> transfer_units_of(const StateLayout& whole, const std::vector<StateLayout>& shards);

}  // namespace sailor::trainer
