// Reads any shard of a layer state from a checkpoint. The workers that wrote the checkpoint may have had different
// shards.
#pragma once

#include "trainer/checkpoint/folders.h"

namespace sailor::trainer {

// Collects the elements of this shard from all files that contain some of them. Fails if one of these files is damaged
// or an element is missing. The result's writer is not set.
Result<SavedShard> assemble(const std::filesystem::path& step_folder, const Manifest& manifest,
                            const StateLayout& shard);

}  // namespace sailor::trainer
