// CheckpointWriter: writes this worker's files of checkpoints in a background thread, while training continues.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "trainer/checkpoint/files.h"

namespace sailor::trainer {

class CheckpointWriter {
 public:
  CheckpointWriter();
  ~CheckpointWriter();  // finishes the current file and drops the rest
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Starts a checkpoint and drops the files of an older one that have not been started. One worker also deletes
  // incomplete older checkpoints first (`deletes_incomplete`), because a full disk would stay full of them.
  void save(const std::filesystem::path& folder, std::int64_t step, std::vector<SavedShard> shards,
            bool deletes_incomplete);

  // Called by one worker when all files of the step are written: completes the checkpoint and deletes old ones.
  void complete(const std::filesystem::path& folder, Manifest manifest, int keep);

  [[nodiscard]] int saved_shards(std::int64_t step) const;  // by this worker
  [[nodiscard]] std::int64_t last_complete() const;         // by complete() of this worker; 0 if none
  [[nodiscard]] std::string last_error() const;             // empty if no attempt failed since the last success
  [[nodiscard]] bool wait_until_idle(std::chrono::milliseconds timeout);  // false: timed out

 private:
  struct Task {
    std::function<void()> run;
    bool writes_shard = false;
  };
  void work(const std::stop_token& stop);
  void note(const Result<void>& result);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  bool is_busy_ = false;
  std::int64_t step_ = 0;
  int saved_ = 0;
  std::int64_t last_complete_ = 0;
  std::string last_error_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace sailor::trainer
