// Reads any shard of a layer state from a checkpoint, whatever shards the writers of the checkpoint had.
#pragma once

#include "trainer/checkpoint/files.h"

namespace sailor::trainer {

// Collects the elements of this shard from all files that contain some of them. Fails if such a file is damaged, or if
// an element is missing.
Result<SavedShard> assemble(const std::filesystem::path& step_folder, const Manifest& manifest,
                            const StateLayout& shard);

}  // namespace sailor::trainer
