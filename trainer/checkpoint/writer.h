// CheckpointWriter: writes the checkpoint files of this worker on a background thread, while training continues. When
// all workers have written their files, one worker also completes the checkpoint.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "trainer/checkpoint/folders.h"

namespace sailor::trainer {

class CheckpointWriter {
 public:
  CheckpointWriter();
  ~CheckpointWriter();  // finishes the current file and drops the rest
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Writes a small file into the folder and deletes it. If that fails, last_error() says so long before the first
  // checkpoint is due. A try that succeeds takes back the error of one that failed.
  void try_folder(const std::filesystem::path& folder);

  // Starts to write the files of a checkpoint. Files of an older one that are not written yet are dropped; the caller
  // waits until no worker is saving, except for a checkpoint of the last step. One worker passes `deletes_incomplete`:
  // it first deletes older incomplete checkpoints, because they could fill the disk.
  void save(const std::filesystem::path& folder, std::int64_t step, std::vector<SavedShard> shards,
            bool deletes_incomplete);

  // Completes the checkpoint and deletes old ones. One worker calls it when all workers have written their files.
  void complete(const std::filesystem::path& folder, Manifest manifest, int keep);

  // The same for a checkpoint that a generation which has ended left unfinished, if all its files are there now.
  // Otherwise does nothing. The background thread looks, after it has written the files that it still has.
  void complete_if_written(const std::filesystem::path& folder, Manifest manifest, std::int64_t generation, int keep);

  // Drops the files that are not written yet, except the one that is being written.
  void drop_unwritten();

  // Returns when this process could have written its first checkpoint.
  [[nodiscard]] std::chrono::steady_clock::time_point created() const { return created_; }

  // Returns how long the newest complete save() took until the last file of this worker was written.
  [[nodiscard]] std::optional<std::chrono::steady_clock::duration> writing_time() const;
  // Returns whether files of the newest save() are still to be written. Once it returns false, saved_shards() is final.
  [[nodiscard]] bool is_saving() const;
  // Returns how many files of this step this worker has written.
  [[nodiscard]] int saved_shards(std::int64_t step) const;
  // Returns the step of the newest checkpoint that this worker has completed, or 0.
  [[nodiscard]] std::int64_t last_complete() const;
  // Returns the newest error. It is empty if this worker has since written all its files of a checkpoint.
  [[nodiscard]] std::string last_error() const;
  // Returns false if work is left after the timeout.
  [[nodiscard]] bool wait_until_idle(std::chrono::milliseconds timeout);

 private:
  struct Task {
    std::function<void()> run;
    bool writes_shard = false;
  };
  // How many files of an unfinished checkpoint are there, counted from the first one of its manifest.
  struct Found {
    std::int64_t step = 0;
    std::int64_t generation = 0;
    std::size_t files = 0;
  };
  void work(const std::stop_token& stop);
  std::size_t drop_unwritten_locked();  // returns how many files
  bool all_are_written(const std::filesystem::path& folder, const Manifest& manifest, std::int64_t generation);
  void finish(const std::filesystem::path& folder, const Manifest& manifest, int keep);
  void note(const Result<void>& result);

  const std::chrono::steady_clock::time_point created_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  bool is_busy_ = false;
  bool is_look_queued_ = false;  // of complete_if_written()
  Found found_;                  // only the background thread uses it
  std::int64_t step_ = 0;
  int saved_ = 0;
  std::size_t unsaved_ = 0;  // files of the step that are neither written nor failed
  std::chrono::steady_clock::time_point saving_since_;
  std::optional<std::chrono::steady_clock::duration> writing_time_;
  std::int64_t last_complete_ = 0;
  std::string last_error_;
  bool is_error_of_try_ = false;  // try_folder() found last_error_
  std::jthread thread_;           // declared last because it uses the other members
};

}  // namespace sailor::trainer
