// StateStreams: all streams (StateStream) from one training worker to other workers of the next generation. It also
// decides how long the change waits for them.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "core/protocol/agent_report.h"
#include "trainer/elastic/joining/state_stream.h"

namespace sailor::trainer {

class StateStreams : public UpdateListener {
 public:
  // How long the change may wait for the receivers.
  struct Limits {
    std::chrono::milliseconds lost;  // after a receiver was lost, because the operator may replace it soon
    std::chrono::milliseconds all;   // total time
  };
  // `live` must outlive it. `slowdown` is that of StreamPace.
  StateStreams(LiveState& live, const Limits& limits, double slowdown)
      : live_(live), lost_limit_(limits.lost), deadline_(began_ + limits.all), pace_(slowdown) {
    live_.attach(*this);
  }
  ~StateStreams() override { live_.detach(*this); }

  void add(std::vector<StreamedShard> shards, StreamLink link) {
    streams_.push_back(std::make_unique<StateStream>(live_, pace_, std::move(shards), std::move(link)));
  }

  void before_update(const HeldState&) override {}
  void after_update(const HeldState&, const AppliedStep& step) override { pace_.note_step(step); }

  // Returns true if the change need not wait any longer: each stream is settled (StateStream::is_settled), or a limit
  // has passed.
  [[nodiscard]] bool is_settled() const;

  [[nodiscard]] UnsentState unsent() const;

  void stop();  // ends all streams; has no effect on a stream whose last step is queued
  [[nodiscard]] bool is_over() const;

 private:
  LiveState& live_;
  const StateStream::Clock::time_point began_ = StateStream::Clock::now();
  std::chrono::milliseconds lost_limit_;
  StateStream::Clock::time_point deadline_;
  StreamPace pace_;
  std::vector<std::unique_ptr<StateStream>> streams_;  // declared last because its threads use the other members
};

}  // namespace sailor::trainer
