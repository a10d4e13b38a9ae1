// Outlet: what a worker that trains sends to one follower. The training thread puts copies into a queue between two
// steps; a thread of its own sends them. A follower that is too slow, or gone, is given up: training waits for none.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trainer/elastic/joining/join_plan.h"
#include "trainer/elastic/joining/stream_link.h"
#include "trainer/elastic/state/held_state.h"

namespace sailor::trainer {

class Outlet {
 public:
  using Clock = std::chrono::steady_clock;

  Outlet(std::vector<StreamedShard> shards, FollowLink link);
  ~Outlet();  // waits for the message at hand: to be broken off first by the interrupt of the link's group
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // By the thread that trains, once all have voted for a step: before its update, whose gradients they are, and after
  // it. Handing out takes about as long as is allowed, or one shard. After the last step nothing is noted any more.
  void note_gradients(const HeldState& held);
  void note_update(const HeldState& held, std::chrono::duration<double> allowed);
  void note_last_update(const HeldState& held);

  // The follower has everything, or all but the newest step; or it is given up: it was too slow, or lost before this.
  [[nodiscard]] bool is_settled(Clock::time_point lost_before) const;
  [[nodiscard]] bool is_over() const { return is_over_; }
  void stop();  // unless the last step is on its way

 private:
  struct Frame {
    StepNews news;
    std::vector<at::Tensor> tensors;  // in the host's memory
    std::int64_t elements = 0;
    void add(const at::Tensor& flat, const std::vector<StridedSpan>& spans);
  };
  void run(FollowLink link);
  void send_frames(FollowLink& link);
  void note_lost(const std::string& why);
  std::optional<Frame> next();
  void note_sent(const Frame& frame);
  void hand_out(const HeldState& held, std::chrono::duration<double> allowed);
  void push(const HeldState& held);
  [[nodiscard]] bool is_behind() const;

  const std::vector<StreamedShard> shards_;
  std::int64_t elements_ = 0;  // of the shards
  Frame frame_;                // of the step at hand: the training thread's
  int handed_out_ = 0;         // shards: likewise
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> queue_;  // the first is being sent
  std::int64_t queued_elements_ = 0;
  int arrived_ = 0;        // shards that the follower has
  bool has_last_ = false;  // changed by the training thread only
  bool is_stopped_ = false;
  std::optional<Clock::time_point> lost_;  // when the follower was lost, if it was
  std::atomic<bool> is_over_ = false;
  std::thread thread_;  // the last to begin: it uses the others
};

}  // namespace sailor::trainer
