#include "trainer/model/shards.h"

#include <algorithm>
#include <map>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

std::int64_t length_along_cut(const TensorLayout& tensor) {
  return tensor.shape[static_cast<std::size_t>(tensor.cut.dimension)];
}

const TensorLayout& tensor_of(const StateLayout& whole, int index) {
  return whole.tensors.at(static_cast<std::size_t>(index));
}

// Returns where the k-th of n nearly equal parts begins. For k = n this is the end.
std::int64_t bound(std::int64_t length, int k, int n) { return length * k / n; }

Slice whole_slice(const TensorLayout& tensor) {
  return {tensor.index, tensor.begin, tensor.begin + length_along_cut(tensor)};
}

// Returns the positions at which a slice of this tensor begins or ends in any of the shards, ascending. They include
// the two ends of the tensor.
std::vector<std::int64_t> cuts_of(const TensorLayout& tensor, const std::vector<StateLayout>& shards) {
  std::vector<std::int64_t> cuts = {0, length_along_cut(tensor)};
  for (const StateLayout& shard : shards) {
    for (const TensorLayout& held : shard.tensors) {
      if (held.index != tensor.index) continue;
      cuts.push_back(held.begin);
      cuts.push_back(held.begin + length_along_cut(held));
    }
  }
  std::ranges::sort(cuts);
  cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
  return cuts;
}

std::vector<int> holders_of(const Slice& slice, const std::vector<StateLayout>& shards) {
  std::vector<int> holders;
  for (int shard = 0; shard < std::ssize(shards); ++shard) {
    if (span_of(shards[static_cast<std::size_t>(shard)], slice)) holders.push_back(shard);
  }
  return holders;
}

}  // namespace

std::vector<Slice> shard_slices(const StateLayout& whole, TensorParallelRank place) {
  SAILOR_CHECK(place.index >= 0 && place.index < place.tensor_parallel, "tensor-parallel rank {} of {}", place.index,
               place.tensor_parallel);
  std::vector<Slice> slices;
  for (const TensorLayout& tensor : whole.tensors) {
    Slice slice = whole_slice(tensor);
    if (tensor.cut.is_by_tensor_parallel) {
      const std::int64_t grains = slice.end / tensor.cut.grain;
      slice.begin = tensor.cut.grain * bound(grains, place.index, place.tensor_parallel);
      slice.end = tensor.cut.grain * bound(grains, place.index + 1, place.tensor_parallel);
    }
    if (slice.begin < slice.end) slices.push_back(slice);
  }
  return slices;
}

Slice subslice(const Slice& slice, int k, int n) {
  const std::int64_t length = slice.end - slice.begin;
  return {slice.tensor, slice.begin + bound(length, k, n), slice.begin + bound(length, k + 1, n)};
}

StateLayout shard_of(const StateLayout& whole, const std::vector<Slice>& slices) {
  StateLayout shard{.id = whole.id, .tensors = {}, .size = 0};
  for (const Slice& slice : slices) {
    if (slice.begin == slice.end) continue;
    TensorLayout tensor = tensor_of(whole, slice.tensor);
    SAILOR_CHECK(slice.begin >= 0 && slice.begin < slice.end && slice.end <= length_along_cut(tensor),
                 "slice [{}, {}) of {} in layer state {}", slice.begin, slice.end, tensor.name, whole.id);
    tensor.shape[static_cast<std::size_t>(tensor.cut.dimension)] = slice.end - slice.begin;
    tensor.begin = slice.begin;
    tensor.offset = shard.size;
    shard.size += tensor.size();
    shard.tensors.push_back(std::move(tensor));
  }
  return shard;
}

std::vector<Slice> slices_of(const StateLayout& shard) {
  std::vector<Slice> slices;
  slices.reserve(shard.tensors.size());
  for (const TensorLayout& tensor : shard.tensors) slices.push_back(whole_slice(tensor));
  return slices;
}

std::int64_t size_of(const StateLayout& whole, const Slice& slice) {
  const TensorLayout& tensor = tensor_of(whole, slice.tensor);
  return tensor.size() / length_along_cut(tensor) * (slice.end - slice.begin);
}

std::int64_t size_of(const std::vector<StridedSpan>& spans) {
  std::int64_t size = 0;
  for (const StridedSpan& span : spans) size += span.rows * span.length;
  return size;
}

std::optional<StridedSpan> span_of(const StateLayout& shard, const Slice& slice) {
  for (const TensorLayout& tensor : shard.tensors) {
    const Slice held = whole_slice(tensor);
    if (held.tensor != slice.tensor || slice.begin < held.begin || slice.end > held.end) continue;
    const std::int64_t rows_before_cut = tensor.cut.dimension == 0 ? 1 : tensor.shape[0];
    const std::int64_t stride = tensor.size() / rows_before_cut;
    const std::int64_t width = stride / (held.end - held.begin);  // elements of one index along the cut
    return StridedSpan{.offset = tensor.offset + (slice.begin - held.begin) * width,
                       .rows = rows_before_cut,
                       .length = (slice.end - slice.begin) * width,
                       .stride = stride};
  }
  return std::nullopt;
}

std::vector<StridedSpan> spans_of(const StateLayout& shard, const std::vector<Slice>& slices) {
  std::vector<StridedSpan> spans;
  const auto is_stretch = [](const StridedSpan& span) { return span.rows == 1 || span.length == span.stride; };
  for (const Slice& slice : slices) {
    const auto span = span_of(shard, slice);
    SAILOR_CHECK(span, "slice [{}, {}) of tensor {} is not held of layer state {}", slice.begin, slice.end,
                 slice.tensor, shard.id);
    const std::int64_t size = span->rows * span->length;
    if (!is_stretch(*span)) {
      spans.push_back(*span);
    } else if (!spans.empty() && is_stretch(spans.back()) &&
               spans.back().offset + spans.back().length == span->offset) {
      spans.back().length += size;
      spans.back().stride = spans.back().length;
    } else {
      spans.push_back({.offset = span->offset, .rows = 1, .length = size, .stride = size});
    }
  }
  return spans;
}

std::vector<TransferUnit> transfer_units_of(const StateLayout& whole, const std::vector<StateLayout>& shards) {
  std::vector<TransferUnit> units;
  std::map<std::vector<int>, std::size_t> by_holders;
  for (const TensorLayout& tensor : whole.tensors) {
    const auto cuts = cuts_of(tensor, shards);
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const Slice slice{tensor.index, cuts[i], cuts[i + 1]};
      auto holders = holders_of(slice, shards);
      const auto [found, is_new] = by_holders.try_emplace(holders, units.size());
      if (is_new)
        units.push_back({.layer_state = whole.id, .holders = std::move(holders), .slices = {}, .elements = 0});
      TransferUnit& unit = units[found->second];
      unit.slices.push_back(slice);
      unit.elements += size_of(whole, slice);
    }
  }
  return units;
}

}  // namespace sailor::trainer
