// Names, completes, finds and deletes the checkpoint folders of a job.
//
//   <path>/<namespace>/<job>/<uid>/step-00000100/piece-007-03.bin   layer state 7, slices that rank 3 wrote
//                                               /manifest.json      written last: with it, the checkpoint is complete
//
// The positions of slices count from the start of the whole layer state, which does not depend on the plan. So any plan
// can read a checkpoint that any other plan wrote (assemble.h). The format has older words than the code: a file name
// says `piece` for a layer state, and the manifest lists the files as `images`.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/checkpoint/shard_file.h"

namespace sailor::trainer {

// What a complete checkpoint consists of.
struct Manifest {
  std::int64_t step = 0;
  double first_loss = 0;
  ModelSpec model;
  std::vector<ShardFileName> files;  // all files of the checkpoint, ascending
  double loss = 0;                   // of the step; 0: unknown, because an older version wrote the manifest
  int sequence_length = 0;           // of the training; 0: unknown, as above
};

// Returns the folder of a job's checkpoints, or an empty path if the job has none. It contains the uid, so that a new
// job does not continue where a deleted job of the same name ended.
std::filesystem::path checkpoint_folder(const Assignment& assignment);
std::filesystem::path checkpoint_folder(const std::string& path, const JobKey& job, const std::string& job_uid);
// Returns the folder of all runs under this name, each in a folder that is called by its UID.
std::filesystem::path runs_folder(const std::string& path, const JobKey& job);
std::filesystem::path step_folder(const std::filesystem::path& folder, std::int64_t step);

// Writes the manifest atomically and durably, which completes the checkpoint. Fails if one of the files is missing. In
// that case the pods do not share the path, or another writer is active.
Result<void> write_manifest(const std::filesystem::path& step_folder, const Manifest& manifest);
// Fails also if the manifest is of another step than the folder.
Result<Manifest> read_manifest(const std::filesystem::path& step_folder);

// Makes a checkpoint that cannot be read incomplete, so that it neither counts as the newest one nor takes the place of
// one that can be read. Its files remain until the job has a checkpoint of a later step, or of the same step.
Result<void> set_aside(const std::filesystem::path& step_folder);

// Writes a small file into the folder and deletes it. Returns why that is not possible. Also deletes such files of
// processes that were killed hours ago.
Result<void> try_to_write(const std::filesystem::path& folder);

// Returns the steps of the complete checkpoints, newest first.
std::vector<std::int64_t> complete_checkpoints(const std::filesystem::path& folder);

// Returns for each run under this name the folders of its complete checkpoints, newest first. The first run is the one
// that has completed a checkpoint last. The jobs of the runs may have been deleted. The run with the UID `except` and
// runs without a complete checkpoint do not count.
std::vector<std::vector<std::filesystem::path>> checkpoints_of_runs(const std::string& path, const JobKey& job,
                                                                    const std::string& except);

// Returns how long ago a checkpoint was completed, by the clock of the file system; 0 if it was deleted since.
std::chrono::seconds age_of_checkpoint(const std::filesystem::path& step_folder);

// Deletes all complete checkpoints except the newest `keep`, at least one, and incomplete ones older than the newest
// complete one. A checkpoint that cannot be deleted stays until the next call.
void delete_old_checkpoints(const std::filesystem::path& folder, int keep);

// Deletes incomplete checkpoints of steps before this one.
void delete_incomplete_checkpoints(const std::filesystem::path& folder, std::int64_t before);

}  // namespace sailor::trainer
