#include "trainer/checkpoint/assemble.h"

#include <algorithm>

#include <fmt/format.h>

namespace sailor::trainer {
namespace {

// Slices that both shards hold, cut so that each lies within one tensor slice of either.
std::vector<Slice> common_slices(const StateLayout& whole, const StateLayout& one, const StateLayout& other) {
  std::vector<Slice> common;
  for (const TransferUnit& unit : transfer_units_of(whole, {one, other})) {
    if (unit.holders.size() == 2) common.insert(common.end(), unit.slices.begin(), unit.slices.end());
  }
  return common;
}

void copy_span(const std::vector<float>& from, const StridedSpan& source, std::vector<float>& into,
               const StridedSpan& target) {
  for (std::int64_t row = 0; row < source.rows; ++row) {
    std::copy_n(from.begin() + source.offset + row * source.stride, source.length,
                into.begin() + target.offset + row * target.stride);
  }
}

std::int64_t copy_slices(const std::vector<Slice>& slices, const SavedShard& from, const StateLayout& source,
                         SavedShard& into, const StateLayout& target) {
  std::int64_t copied = 0;
  for (const Slice& slice : slices) {
    const StridedSpan span = span_of(source, slice).value();
    const StridedSpan place = span_of(target, slice).value();
    copy_span(from.weights, span, into.weights, place);
    copy_span(from.momentum, span, into.momentum, place);
    copy_span(from.variance, span, into.variance, place);
    copied += span.rows * span.length;
  }
  return copied;
}

tl::unexpected<Error> unfit(const std::filesystem::path& folder, int layer_state, std::string_view what) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("reading checkpoint {}: layer state {} {}", folder.string(), layer_state, what));
}

bool describes(const std::vector<Slice>& slices, const StateLayout& whole) {
  return std::ranges::all_of(slices, [&](const Slice& slice) { return span_of(whole, slice).has_value(); });
}

}  // namespace

Result<SavedShard> assemble(const std::filesystem::path& step_folder, const Manifest& manifest,
                            const StateLayout& shard) {
  const StateLayout whole = layout_of(manifest.model, shard.id);
  const std::vector<float> empty(static_cast<std::size_t>(shard.size));
  SavedShard result{shard.id, 0, slices_of(shard), empty, empty, empty};
  std::int64_t missing = shard.size;
  for (const ShardFileName& name : manifest.files) {
    if (name.layer_state != shard.id) continue;
    const auto slices = read_slices(step_folder, name);
    if (!slices) return tl::unexpected(slices.error());
    if (!describes(*slices, whole)) return unfit(step_folder, shard.id, "has slices that the model does not have");
    const StateLayout source = shard_of(whole, *slices);
    const std::vector<Slice> common = common_slices(whole, source, shard);
    if (common.empty()) continue;
    const auto saved = read_shard_file(step_folder, manifest.step, name);
    if (!saved) return tl::unexpected(saved.error());
    if (std::ssize(saved->weights) != source.size) return unfit(step_folder, shard.id, "is of another model");
    missing -= copy_slices(common, *saved, source, result, shard);
  }
  if (missing != 0) return unfit(step_folder, shard.id, fmt::format("lacks {} of {} elements", missing, shard.size));
  return result;
}

}  // namespace sailor::trainer
