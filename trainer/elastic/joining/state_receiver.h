// Following: how a newcomer takes part in the updates of a training that it is not in yet, so that it holds the state
// when its own generation begins.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/joining/join_plan.h"
#include "trainer/elastic/joining/stream_link.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/incoming_message.h"

namespace sailor::trainer {

// What comes from one feeder, on a thread of its own.
class FollowedStream {
 public:
  FollowedStream(std::shared_ptr<const Assignment> assignment, std::vector<StreamedShard> shards, FollowLink link);
  ~FollowedStream() { stop(); }  // waits for the message at hand: to be broken off first by the link's interrupt
  FollowedStream(const FollowedStream&) = delete;
  FollowedStream& operator=(const FollowedStream&) = delete;

  void stop() { is_stopped_ = true; }
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds patience) const;

  // Once it is over: the state after the last step of the generation, or nothing, if it did not come so far.
  std::optional<HeldState> take() { return result_.get(); }

 private:
  std::optional<HeldState> run(FollowLink& link);
  void follow(const StepNews& news, FollowLink& link);
  void receive_gradients(const StepNews& news, FollowLink& link);
  void receive_shard(const StreamedShard& shard, FollowLink& link);

  const std::shared_ptr<const Assignment> assignment_;
  const std::vector<StreamedShard> shards_;
  HeldState held_;
  std::vector<at::Tensor> gradients_;  // of the shards that are here
  std::atomic<bool> is_stopped_ = false;
  std::future<std::optional<HeldState>> result_;  // its thread is the last to begin: it uses the others
};

// All that was followed to the end, and the generation that it is of.
struct Followed {
  std::int64_t generation = 0;
  HeldState held;
};

class Following {
 public:
  Following(std::int64_t generation, std::vector<std::unique_ptr<FollowedStream>> streams)
      : generation_(generation), streams_(std::move(streams)) {}

  void stop();
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds patience) const;

  std::optional<Followed> take(const ModelSpec& model);  // once it is over; nothing if no stream came to its end

 private:
  std::int64_t generation_;
  std::vector<std::unique_ptr<FollowedStream>> streams_;
};

}  // namespace sailor::trainer
