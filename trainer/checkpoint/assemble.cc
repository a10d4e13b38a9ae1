#include "trainer/checkpoint/assemble.h"

#include <algorithm>

#include <fmt/format.h>

namespace sailor::trainer {
namespace {

// Ranges that both parts hold, cut so that each lies within one tensor range of either.
std::vector<Range> common_ranges(const Piece& whole, const Piece& one, const Piece& other) {
  std::vector<Range> common;
  for (const Parcel& parcel : parcels_of(whole, {one, other})) {
    if (parcel.holders.size() == 2) common.insert(common.end(), parcel.ranges.begin(), parcel.ranges.end());
  }
  return common;
}

void copy_block(const std::vector<float>& from, const Block& source, std::vector<float>& into, const Block& target) {
  for (std::int64_t row = 0; row < source.rows; ++row) {
    std::copy_n(from.begin() + source.offset + row * source.stride, source.length,
                into.begin() + target.offset + row * target.stride);
  }
}

std::int64_t copy_ranges(const std::vector<Range>& ranges, const PieceImage& from, const Piece& source,
                         PieceImage& into, const Piece& target) {
  std::int64_t copied = 0;
  for (const Range& range : ranges) {
    const Block block = *block_of(source, range);
    const Block place = *block_of(target, range);
    copy_block(from.weights, block, into.weights, place);
    copy_block(from.momentum, block, into.momentum, place);
    copy_block(from.variance, block, into.variance, place);
    copied += block.rows * block.length;
  }
  return copied;
}

tl::unexpected<Error> unfit(const std::filesystem::path& folder, int piece, std::string_view what) {
  return fail(ErrorCode::kUnavailable, fmt::format("reading checkpoint {}: piece {} {}", folder.string(), piece, what));
}

bool describes(const std::vector<Range>& ranges, const Piece& whole) {
  return std::ranges::all_of(ranges, [&](const Range& range) { return block_of(whole, range).has_value(); });
}

}  // namespace

Result<PieceImage> assemble(const std::filesystem::path& step_folder, const Manifest& manifest, const Piece& part) {
  const Piece whole = piece_of(manifest.model, part.id);
  const std::vector<float> empty(static_cast<std::size_t>(part.size));
  PieceImage result{part.id, 0, ranges_of(part), empty, empty, empty};
  std::int64_t missing = part.size;
  for (const ImageName& name : manifest.images) {
    if (name.piece != part.id) continue;
    const auto ranges = read_ranges(step_folder, name);
    if (!ranges) return tl::unexpected(ranges.error());
    if (!describes(*ranges, whole)) return unfit(step_folder, part.id, "has ranges that the model does not have");
    const Piece source = part_of(whole, *ranges);
    const std::vector<Range> common = common_ranges(whole, source, part);
    if (common.empty()) continue;
    const auto image = read_image(step_folder, manifest.step, name);
    if (!image) return tl::unexpected(image.error());
    if (std::ssize(image->weights) != source.size) return unfit(step_folder, part.id, "is of another model");
    missing -= copy_ranges(common, *image, source, result, part);
  }
  if (missing != 0) return unfit(step_folder, part.id, fmt::format("lacks {} of {} elements", missing, part.size));
  return result;
}

}  // namespace sailor::trainer
