// Computes shards and transfer units, without tensors. state_layout.h defines the words.
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

// Rows or columns [begin, end) of one tensor of a layer state, along the dimension of its cut (TensorLayout::cut).
struct Slice {
  int tensor = 0;  // TensorLayout::index
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend auto operator<=>(const Slice&, const Slice&) = default;
};

// Returns the slices with which a worker of a tensor-parallel group computes: one slice of each tensor that the group
// splits, and the whole of each other tensor. The grains of a tensor are distributed as evenly as possible. Their
// number need not be a multiple of the number of workers. A worker that gets no grain of a tensor has no slice of it.
std::vector<Slice> shard_slices(const StateLayout& whole, TensorParallelRank place);

// Returns the k-th of n nearly equal parts of a slice, which can be empty. A sharded optimizer divides a slice over its
// n holders in this way.
Slice subslice(const Slice& slice, int k, int n);

// Returns the layout of the shard that consists of these slices, in this order, without empty ones.
StateLayout shard_of(const StateLayout& whole, const std::vector<Slice>& slices);

// The inverse: returns the slices of a shard, or of a whole layer state.
std::vector<Slice> slices_of(const StateLayout& shard);

// Returns the number of elements of the slice.
std::int64_t size_of(const StateLayout& whole, const Slice& slice);

// The place of a slice in the flat tensor of a shard: `rows` rows of `length` elements. The first row begins at
// `offset`, and each row begins `stride` elements after the previous one. Row by row, a slice is the same sequence of
// elements in every shard that contains it.
struct StridedSpan {
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  friend bool operator==(const StridedSpan&, const StridedSpan&) = default;
};

std::int64_t size_of(const std::vector<StridedSpan>& spans);  // elements of all of them

// Returns nothing unless one tensor of the shard contains the whole slice.
std::optional<StridedSpan> span_of(const StateLayout& shard, const Slice& slice);

// Returns the spans of these slices in this order; adjacent spans are merged. The shard must contain all slices.
std::vector<StridedSpan> spans_of(const StateLayout& shard, const std::vector<Slice>& slices);

// All slices of a layer state that exactly the same shards contain. These shards (the holders) contain each slice
// entirely, and the other shards contain nothing of it.
struct TransferUnit {
  int layer_state = 0;
  std::vector<int> holders;   // indices of the shards, ascending
  std::vector<Slice> slices;  // ascending
  std::int64_t elements = 0;  // total of all slices
  friend bool operator==(const TransferUnit&, const TransferUnit&) = default;
};

// Cuts a layer state wherever a slice of any shard begins or ends, and combines the resulting slices that have the same
// holders into one unit. Every element is in exactly one unit. The elements that no shard contains form a unit without
// holders. The units are in the order of their first slices. Each slice lies within one tensor of every shard that
// contains it.
std::vector<TransferUnit> transfer_units_of(const StateLayout& whole, const std::vector<StateLayout>& shards);

}  // namespace sailor::trainer
