// The folders of a job's checkpoints: how they are named, completed, found and deleted.
//
//   <path>/<namespace>/<job>/<uid>/step-00000100/piece-007-03.bin   what worker 3 keeps of layer state 7
//                                               /manifest.json      last: a folder with a manifest is complete
// Slices are of the whole layer state, which does not depend on the plan: any plan can read what any other wrote
// (assemble.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/checkpoint/image_file.h"

namespace sailor::trainer {

struct Manifest {
  std::int64_t step = 0;
  double first_loss = 0;
  ModelSpec model;
  std::vector<ImageName> images;  // that make up the checkpoint, ascending
};

// Where a job's checkpoints are; empty if it has none. The uid keeps a job made anew from going on where an old one of
// its name ended.
std::filesystem::path checkpoint_folder(const Assignment& assignment);
std::filesystem::path step_folder(const std::filesystem::path& folder, std::int64_t step);

// Written like an image, so that a crash leaves no half of it. Refuses while one of the images is missing: then the
// path is not shared by all pods, or another writer is at work.
Result<void> write_manifest(const std::filesystem::path& step_folder, const Manifest& manifest);
Result<Manifest> read_manifest(const std::filesystem::path& step_folder);

// Steps of the complete checkpoints, newest first.
std::vector<std::int64_t> complete_checkpoints(const std::filesystem::path& folder);

// Deletes all but the newest `keep` complete checkpoints, and incomplete ones that are older than the newest complete.
void delete_old_checkpoints(const std::filesystem::path& folder, int keep);

// Deletes checkpoints older than this step that were never completed.
void delete_incomplete_checkpoints(const std::filesystem::path& folder, std::int64_t before);

}  // namespace sailor::trainer
