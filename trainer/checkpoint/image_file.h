// One file of a checkpoint: what one worker keeps of one layer state, without LibTorch.
//
//   "SAILORP2" | length of the header (8 bytes, little endian) | header | weights, momentum, variance
//   The header is JSON: piece (id of the layer state), step, ranges (its slices), elements, and sha256 of its other
//   fields and of what follows. The elements are those of the slices, one slice after the other, as little-endian FP32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/model/error.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

// What one worker keeps of one layer state: some of its slices (shards.h), and their elements in that order.
struct ShardImage {
  int layer_state = 0;
  int writer = 0;  // the worker's rank
  std::vector<Slice> slices;
  std::vector<float> weights, momentum, variance;
};

struct ImageName {
  int layer_state = 0;
  int writer = 0;
  friend auto operator<=>(const ImageName&, const ImageName&) = default;
};

std::filesystem::path image_file(const std::filesystem::path& step_folder, const ImageName& name);

// Each is written beside its place, flushed to the disk and renamed: a crash leaves the old file or the new one.
Result<void> write_image(const std::filesystem::path& step_folder, std::int64_t step, const ShardImage& image);
Result<ShardImage> read_image(const std::filesystem::path& step_folder, std::int64_t step, const ImageName& name);

// The slices alone, without the elements and without a look at their checksum.
Result<std::vector<Slice>> read_slices(const std::filesystem::path& step_folder, const ImageName& name);

}  // namespace sailor::trainer
