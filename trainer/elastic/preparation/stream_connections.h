// FollowEnds: a worker's ends of the streams by which newcomers follow the training: it feeds, it follows, or neither.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "trainer/comm/group_factory.h"
#include "trainer/comm/interrupt.h"
#include "trainer/elastic/control/worker_settings.h"
#include "trainer/elastic/joining/state_receiver.h"
#include "trainer/elastic/joining/state_streaming.h"
#include "trainer/elastic/regroup/generation_rendezvous.h"

namespace sailor::trainer {

class FollowEnds {
 public:
  // Connects this worker to those whom it feeds or follows, once all have come to the meeting. Nothing depends on it:
  // where it cannot be done state moves at the switch.
  FollowEnds(const std::shared_ptr<const Assignment>& assignment, Meeting& meeting, const WorkerSettings& settings);
  ~FollowEnds();
  FollowEnds(const FollowEnds&) = delete;
  FollowEnds& operator=(const FollowEnds&) = delete;

  [[nodiscard]] Feeding* feeding() const { return feeding_.get(); }  // null: nobody follows this worker
  [[nodiscard]] bool is_settled() const;                             // nobody has to wait for its followers any more

  void end_feeding();  // but for a last step that is on its way
  void break_off();    // from any thread: all is over at once
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] bool has_followed_within(std::chrono::milliseconds patience) const;  // to the end, or nobody
  std::optional<Followed> take_followed(const ModelSpec& model);                     // once it has

 private:
  void connect(const std::shared_ptr<const Assignment>& assignment, Meeting& meeting, GroupFactory& factory);

  std::chrono::milliseconds patience_;
  std::chrono::milliseconds lost_limit_;
  std::shared_ptr<Interrupt> interrupt_;                  // of all streams
  std::optional<Outlet::Clock::time_point> unconnected_;  // when that came out, if it did
  std::unique_ptr<Feeding> feeding_;
  std::unique_ptr<Following> following_;
};

}  // namespace sailor::trainer
