// StateStreams: all streams (StateStream) from one training worker to joining workers of the next generation. It also
// decides how long the change waits for them.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "trainer/elastic/joining/state_stream.h"

namespace sailor::trainer {

class StateStreams {
 public:
  // How long the change may wait for joining workers.
  struct Limits {
    std::chrono::milliseconds lost;  // after a joining worker was lost, because the operator may replace it soon
    std::chrono::milliseconds all;   // total time
  };
  StateStreams(std::vector<std::unique_ptr<StateStream>> streams, const Limits& limits)
      : streams_(std::move(streams)), lost_limit_(limits.lost), deadline_(StateStream::Clock::now() + limits.all) {}

  // The training thread calls these functions as it calls those of StateStream. `step` is the mean duration of a step;
  // copying new shards takes about 5% of it.
  void note_gradients(const HeldState& held);
  void note_update(const HeldState& held, std::chrono::duration<double> step);
  void note_last_update(const HeldState& held);

  // Returns true if the change need not wait any longer: each stream is settled (StateStream::is_settled), or a limit
  // has passed.
  [[nodiscard]] bool is_settled() const;

  void stop();  // ends all streams; has no effect on a stream whose last step is queued
  [[nodiscard]] bool is_over() const;

 private:
  std::vector<std::unique_ptr<StateStream>> streams_;
  std::chrono::milliseconds lost_limit_;
  StateStream::Clock::time_point deadline_;
};

}  // namespace sailor::trainer
