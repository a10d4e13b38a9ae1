// Assemble: any shard of a layer state out of a checkpoint, whatever shards its writers kept.
#pragma once

#include "trainer/checkpoint/files.h"

namespace sailor::trainer {

// The elements of exactly this shard, from the images that hold some of it. Fails where one of them is damaged, or
// where they lack an element.
Result<ShardImage> assemble(const std::filesystem::path& step_folder, const Manifest& manifest,
                            const StateLayout& shard);

}  // namespace sailor::trainer
