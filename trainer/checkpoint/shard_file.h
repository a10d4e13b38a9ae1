// Reads and writes one file of a checkpoint. It contains the slices of one layer state that one worker saves. This code
// does not use LibTorch.
//
//   "SAILORP2" | length of the header (8 bytes, little endian) | header | weights, momentum, variance
//   The header is JSON with the keys piece (id of the layer state), step, generation (in which it was written; files of
//   older versions lack it), ranges (the slices), elements (their number), and sha256 (checksum of the other keys and
//   of all data after the header). Weights, momentum and variance are little-endian FP32: all elements of the first
//   slice, then those of the next slice, and so on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

// The content of such a file: slices of a layer state (model/shards.h), and their elements in the same order.
struct SavedShard {
  int layer_state = 0;
  int writer = 0;  // the worker's rank
  std::vector<Slice> slices;
  std::vector<float> weights, momentum, variance;
  std::int64_t generation = 0;  // of the writer; 0: unknown
};

struct ShardFileName {
  int layer_state = 0;
  int writer = 0;
  friend auto operator<=>(const ShardFileName&, const ShardFileName&) = default;
};

std::filesystem::path shard_file(const std::filesystem::path& step_folder, const ShardFileName& name);

// Returns the error of a file of a checkpoint, its manifest included, that cannot be read.
tl::unexpected<Error> damaged(const std::filesystem::path& file, const std::string& what);

// Writes the file atomically and durably (durable_file.h).
Result<void> write_shard_file(const std::filesystem::path& step_folder, std::int64_t step, const SavedShard& saved);
Result<SavedShard> read_shard_file(const std::filesystem::path& step_folder, std::int64_t step,
                                   const ShardFileName& name);

// Returns whether the file is there and was written in this generation. Reads only its header.
bool is_written_in(std::int64_t generation, const std::filesystem::path& step_folder, const ShardFileName& name);

// Reads only the slices, without the elements and without verifying their checksum.
Result<std::vector<Slice>> read_slices(const std::filesystem::path& step_folder, const ShardFileName& name);

}  // namespace sailor::trainer
