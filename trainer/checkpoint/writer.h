// CheckpointWriter: writes a worker's part of checkpoints on a thread of its own, while training goes on.
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
  ~CheckpointWriter();  // finishes the file at hand, forgets the rest
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Begins a checkpoint; what was not begun of an older one is given up. One worker is told to tidy up first: to delete
  // what is left of older ones that were never completed, for a full disk would stay full of them.
  void save(const std::filesystem::path& folder, std::int64_t step, std::vector<ShardImage> images, bool tidies_up);

  // To be called by one worker, once all images of the step are written: makes it complete and deletes old ones.
  void complete(const std::filesystem::path& folder, Manifest manifest, int keep);

  [[nodiscard]] int saved_shards(std::int64_t step) const;  // by this worker
  [[nodiscard]] std::int64_t last_complete() const;         // by this worker's complete(); 0: none
  [[nodiscard]] std::string trouble() const;                // why an attempt failed; empty: none since one that did not
  [[nodiscard]] bool wait_until_idle(std::chrono::milliseconds patience);  // false: there is still work

 private:
  struct Task {
    std::function<void()> run;
    bool is_of_an_image = false;
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
  std::string trouble_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace sailor::trainer
