// One file of a checkpoint: what one worker keeps of one piece, without LibTorch.
//
//   "SAILORP2" | length of the header (8 bytes, little endian) | header | weights, momentum, variance
//   The header is JSON: piece, step, ranges, elements, and sha256 of its other fields and of what follows. The elements
//   are those of the ranges, one range after the other, as little-endian FP32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/model/error.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

// What one worker keeps of one piece: some of its ranges (shards.h), and their elements in that order.
struct PieceImage {
  int piece = 0;
  int writer = 0;  // the worker's rank
  std::vector<Range> ranges;
  std::vector<float> weights, momentum, variance;
};

struct ImageName {
  int piece = 0;
  int writer = 0;
  friend auto operator<=>(const ImageName&, const ImageName&) = default;
};

std::filesystem::path image_file(const std::filesystem::path& step_folder, const ImageName& name);

// Each is written beside its place, flushed to the disk and renamed: a crash leaves the old file or the new one.
Result<void> write_image(const std::filesystem::path& step_folder, std::int64_t step, const PieceImage& image);
Result<PieceImage> read_image(const std::filesystem::path& step_folder, std::int64_t step, const ImageName& name);

// The ranges alone, without the elements and without a look at their checksum.
Result<std::vector<Range>> read_ranges(const std::filesystem::path& step_folder, const ImageName& name);

}  // namespace sailor::trainer
