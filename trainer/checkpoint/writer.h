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

#include "trainer/checkpoint/files.h"

namespace sailor::trainer {

class CheckpointWriter {
 public:
  CheckpointWriter();
  ~CheckpointWriter();  // finishes the current file and drops the rest
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Starts to write the files of a checkpoint. Files of a checkpoint that another generation has left unfinished are
  // dropped; within a generation the caller waits until no worker is saving. One worker passes `deletes_incomplete`: it
  // first deletes older incomplete checkpoints, because they could fill the disk.
  void save(const std::filesystem::path& folder, std::int64_t step, std::vector<SavedShard> shards,
            bool deletes_incomplete);

  // Completes the checkpoint and deletes old ones. One worker calls it when all workers have written their files.
  void complete(const std::filesystem::path& folder, Manifest manifest, int keep);

  // Returns when this process could have written its first checkpoint.
  [[nodiscard]] std::chrono::steady_clock::time_point created() const { return created_; }

  // Returns how long the newest complete save() took until the last file of this worker was written.
  [[nodiscard]] std::optional<std::chrono::steady_clock::duration> writing_time() const;
  // Returns whether files of this step are still to be written. Once it returns false, saved_shards() is final.
  [[nodiscard]] bool is_saving(std::int64_t step) const;
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
  void work(const std::stop_token& stop);
  void note(const Result<void>& result);

  const std::chrono::steady_clock::time_point created_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  bool is_busy_ = false;
  std::int64_t step_ = 0;
  int saved_ = 0;
  std::size_t unsaved_ = 0;  // files of the step that are neither written nor failed
  std::chrono::steady_clock::time_point saving_since_;
  std::optional<std::chrono::steady_clock::duration> writing_time_;
  std::int64_t last_complete_ = 0;
  std::string last_error_;
  std::jthread thread_;  // declared last because it uses the other members
};

}  // namespace sailor::trainer
