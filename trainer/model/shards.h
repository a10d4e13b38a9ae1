// Shards: which part of a piece a worker holds, as ranges along the cut of each of its tensors. Pure, without tensors.
//
//   whole piece --shard_ranges--> ranges of one worker --part_of--> a Piece that lists exactly these ranges
//   parts of several workers --parcels_of--> what all of them hold alike: reduced, moved, saved together
//
// A part is a Piece like any other (its slices have the ranges' shapes and lie one after the other), so whatever works
// on pieces works on shards of any degree, and on an optimizer's state that is sharded over replicas.
#pragma once

#include <compare>
#include <optional>

#include "trainer/model/pieces.h"

namespace sailor::trainer {

// A worker's place in its tensor-parallel group.
struct Shard {
  int index = 0;
  int degree = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};

// Rows or columns [begin, end) of one tensor of a piece, along its cut.
struct Range {
  int slice = 0;  // Slice::index
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend auto operator<=>(const Range&, const Range&) = default;
};

// What the worker holds: of tensors that the group splits its range, the others whole. A shard that gets no grain of a
// tensor has no range of it. Grains are dealt as evenly as they can be, so degrees need not divide them.
std::vector<Range> shard_ranges(const Piece& whole, Shard shard);

// The k-th of n shares of a range, as even as can be; may be empty. (An optimizer's state over n holders.)
Range share_of(const Range& range, int k, int n);

// The piece that consists of these ranges, in this order; empty ones are left out.
Piece part_of(const Piece& whole, const std::vector<Range>& ranges);

// The inverse: the ranges that a part lists. Of a whole piece: all of it.
std::vector<Range> ranges_of(const Piece& part);

// Elements of the range.
std::int64_t size_of(const Piece& whole, const Range& range);

// Where a range lies in the flat tensor of a part: `rows` rows of `length` elements, the first at `offset`, each
// `stride` after the one before. Read row by row, a range is the same sequence of elements in every part that holds it.
struct Block {
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

// Absent where the part does not hold all of the range in one of its slices.
std::optional<Block> block_of(const Piece& part, const Range& range);

// The blocks of these ranges in this order, neighbours joined; the part holds all of them.
std::vector<Block> blocks_of(const Piece& part, const std::vector<Range>& ranges);

// Ranges that the same workers hold: each of them entirely, everybody else nothing of it.
struct Parcel {
  std::vector<int> holders;   // indices of the parts, ascending
  std::vector<Range> ranges;  // ascending
  friend bool operator==(const Parcel&, const Parcel&) = default;
};

// Cuts a whole piece where any of the parts begins or ends: every element in exactly one parcel, what nobody holds in
// one without holders. In order of their first ranges. Each range lies within one slice of every part that holds it.
std::vector<Parcel> parcels_of(const Piece& whole, const std::vector<Piece>& parts);

std::int64_t size_of(const Piece& whole, const Parcel& parcel);

}  // namespace sailor::trainer
