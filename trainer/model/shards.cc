#include "trainer/model/shards.h"

#include <algorithm>
#include <map>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

std::int64_t length_along_cut(const Slice& slice) { return slice.shape[static_cast<std::size_t>(slice.cut.dimension)]; }

const Slice& slice_of(const Piece& whole, int index) { return whole.slices.at(static_cast<std::size_t>(index)); }

// Where the k-th of n parts of something begins; that of part n is the end.
std::int64_t bound(std::int64_t length, int k, int n) { return length * k / n; }

Range whole_range(const Slice& slice) { return {slice.index, slice.begin, slice.begin + length_along_cut(slice)}; }

// The places where a range of this tensor begins or ends in any of the parts, its own ends included; ascending.
std::vector<std::int64_t> cuts_of(const Slice& slice, const std::vector<Piece>& parts) {
  std::vector<std::int64_t> cuts = {0, length_along_cut(slice)};
  for (const Piece& part : parts) {
    for (const Slice& held : part.slices) {
      if (held.index != slice.index) continue;
      cuts.push_back(held.begin);
      cuts.push_back(held.begin + length_along_cut(held));
    }
  }
  std::ranges::sort(cuts);
  cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
  return cuts;
}

std::vector<int> holders_of(const Range& range, const std::vector<Piece>& parts) {
  std::vector<int> holders;
  for (int part = 0; part < std::ssize(parts); ++part) {
    if (block_of(parts[static_cast<std::size_t>(part)], range)) holders.push_back(part);
  }
  return holders;
}

}  // namespace

std::vector<Range> shard_ranges(const Piece& whole, Shard shard) {
  SAILOR_CHECK(shard.index >= 0 && shard.index < shard.degree, "shard {} of {}", shard.index, shard.degree);
  std::vector<Range> ranges;
  for (const Slice& slice : whole.slices) {
    Range range = whole_range(slice);
    if (slice.cut.is_by_tensor_parallel) {
      const std::int64_t grains = range.end / slice.cut.grain;
      range.begin = slice.cut.grain * bound(grains, shard.index, shard.degree);
      range.end = slice.cut.grain * bound(grains, shard.index + 1, shard.degree);
    }
    if (range.begin < range.end) ranges.push_back(range);
  }
  return ranges;
}

Range share_of(const Range& range, int k, int n) {
  const std::int64_t length = range.end - range.begin;
  return {range.slice, range.begin + bound(length, k, n), range.begin + bound(length, k + 1, n)};
}

Piece part_of(const Piece& whole, const std::vector<Range>& ranges) {
  Piece part{.id = whole.id, .slices = {}, .size = 0};
  for (const Range& range : ranges) {
    if (range.begin == range.end) continue;
    Slice slice = slice_of(whole, range.slice);
    SAILOR_CHECK(range.begin >= 0 && range.begin < range.end && range.end <= length_along_cut(slice),
                 "range [{}, {}) of {} in piece {}", range.begin, range.end, slice.name, whole.id);
    slice.shape[static_cast<std::size_t>(slice.cut.dimension)] = range.end - range.begin;
    slice.begin = range.begin;
    slice.offset = part.size;
    part.size += slice.size();
    part.slices.push_back(std::move(slice));
  }
  return part;
}

std::vector<Range> ranges_of(const Piece& part) {
  std::vector<Range> ranges;
  for (const Slice& slice : part.slices) ranges.push_back(whole_range(slice));
  return ranges;
}

std::int64_t size_of(const Piece& whole, const Range& range) {
  const Slice& slice = slice_of(whole, range.slice);
  return slice.size() / length_along_cut(slice) * (range.end - range.begin);
}

std::optional<Block> block_of(const Piece& part, const Range& range) {
  for (const Slice& slice : part.slices) {
    const Range held = whole_range(slice);
    if (held.slice != range.slice || range.begin < held.begin || range.end > held.end) continue;
    const std::int64_t rows_before_cut = slice.cut.dimension == 0 ? 1 : slice.shape[0];
    const std::int64_t stride = slice.size() / rows_before_cut;
    const std::int64_t width = stride / (held.end - held.begin);  // elements of one index along the cut
    return Block{.offset = slice.offset + (range.begin - held.begin) * width,
                 .rows = rows_before_cut,
                 .length = (range.end - range.begin) * width,
                 .stride = stride};
  }
  return std::nullopt;
}

std::vector<Block> blocks_of(const Piece& part, const std::vector<Range>& ranges) {
  std::vector<Block> blocks;
  const auto is_stretch = [](const Block& block) { return block.rows == 1 || block.length == block.stride; };
  for (const Range& range : ranges) {
    const auto block = block_of(part, range);
    SAILOR_CHECK(block, "range [{}, {}) of tensor {} is not held of piece {}", range.begin, range.end, range.slice,
                 part.id);
    const std::int64_t size = block->rows * block->length;
    if (!is_stretch(*block)) {
      blocks.push_back(*block);
    } else if (!blocks.empty() && is_stretch(blocks.back()) &&
               blocks.back().offset + blocks.back().length == block->offset) {
      blocks.back().length += size;
      blocks.back().stride = blocks.back().length;
    } else {
      blocks.push_back({.offset = block->offset, .rows = 1, .length = size, .stride = size});
    }
  }
  return blocks;
}

std::vector<Parcel> parcels_of(const Piece& whole, const std::vector<Piece>& parts) {
  std::vector<Parcel> parcels;
  std::map<std::vector<int>, std::size_t> by_holders;
  for (const Slice& slice : whole.slices) {
    const auto cuts = cuts_of(slice, parts);
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const Range range{slice.index, cuts[i], cuts[i + 1]};
      auto holders = holders_of(range, parts);
      const auto [found, is_new] = by_holders.try_emplace(holders, parcels.size());
      if (is_new) parcels.push_back({.holders = std::move(holders), .ranges = {}});
      parcels[found->second].ranges.push_back(range);
    }
  }
  return parcels;
}

std::int64_t size_of(const Piece& whole, const Parcel& parcel) {
  std::int64_t size = 0;
  for (const Range& range : parcel.ranges) size += size_of(whole, range);
  return size;
}

}  // namespace sailor::trainer
