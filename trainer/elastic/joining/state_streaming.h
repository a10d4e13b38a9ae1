// StateStreaming: all streams from one training worker to joining workers of the next generation.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "trainer/elastic/joining/state_stream.h"

namespace sailor::trainer {

class StateStreaming {
 public:
  // How long a change may be delayed: for a lost joining worker, which the operator may replace soon, and in total.
  struct Limits {
    std::chrono::milliseconds lost;
    std::chrono::milliseconds all;
  };
  StateStreaming(std::vector<std::unique_ptr<StateStream>> streams, const Limits& limits)
      : streams_(std::move(streams)), lost_limit_(limits.lost), deadline_(StateStream::Clock::now() + limits.all) {}

  // For each step, after all workers have voted for it: note_gradients() before the update, note_update() after it;
  // note_last_update() instead after the last step of the generation.
  void note_gradients(const HeldState& held);
  void note_update(const HeldState& held, std::chrono::duration<double> step);
  void note_last_update(const HeldState& held);

  // True if the change need not wait any longer: each joining worker has caught up or has been given up, or a limit has
  // passed.
  [[nodiscard]] bool is_settled() const;

  void stop();  // has no effect once the last step is queued
  [[nodiscard]] bool is_over() const;

 private:
  std::vector<std::unique_ptr<StateStream>> streams_;
  std::chrono::milliseconds lost_limit_;
  StateStream::Clock::time_point deadline_;
};

}  // namespace sailor::trainer
