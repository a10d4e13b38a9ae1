// The files of a checkpoint, without tensors: how they are named, written, checked and found.
//
//   <path>/<namespace>/<job>/<uid>/step-00000100/piece-007.bin   one a piece
//                                               /manifest.json   last: a folder with a manifest is complete
//   piece file: "SAILORP1", length of the header (8 bytes, little endian), header, then the weights, momentum and
//   variance of the piece as little-endian FP32. The header is JSON: piece, step, elements, and sha256 of what follows.
// The pieces do not depend on the plan, so any plan can read what any other wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/model/assignment.h"

namespace sailor::trainer {

struct PieceImage {
  int piece = 0;
  std::vector<float> weights, momentum, variance;
};

struct Manifest {
  std::int64_t step = 0;
  double first_loss = 0;
  ModelSpec model;
  std::vector<int> pieces;
};

// Where a job's checkpoints are; empty if it has none. The uid keeps a job made anew from going on where an old one of
// its name ended.
std::filesystem::path checkpoint_folder(const Assignment& assignment);
std::filesystem::path step_folder(const std::filesystem::path& folder, std::int64_t step);

// Each is written beside its place, flushed to the disk and renamed: a crash leaves the old file or the new one.
Result<void> write_piece(const std::filesystem::path& step_folder, std::int64_t step, const PieceImage& image);
Result<PieceImage> read_piece(const std::filesystem::path& step_folder, std::int64_t step, int piece);

// Refuses while one of the pieces is missing: then the path is not shared by all pods, or another writer is at work.
Result<void> write_manifest(const std::filesystem::path& step_folder, const Manifest& manifest);
Result<Manifest> read_manifest(const std::filesystem::path& step_folder);

// Steps of the complete checkpoints, newest first.
std::vector<std::int64_t> complete_checkpoints(const std::filesystem::path& folder);

// Deletes all but the newest `keep` complete checkpoints, and incomplete ones that are older than the newest complete.
void delete_old_checkpoints(const std::filesystem::path& folder, int keep);

// Deletes checkpoints older than this step that were never completed.
void delete_incomplete_checkpoints(const std::filesystem::path& folder, std::int64_t before);

}  // namespace sailor::trainer
