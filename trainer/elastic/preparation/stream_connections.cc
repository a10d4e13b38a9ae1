#include "trainer/elastic/preparation/stream_connections.h"

#include <utility>

#include <fmt/format.h>

#include "core/log/log.h"
#include "core/protocol/timeouts.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/regroup/peer_names.h"

namespace sailor::trainer {

FollowEnds::FollowEnds(const std::shared_ptr<const Assignment>& assignment, Meeting& meeting,
                       const WorkerSettings& settings)
    : patience_(settings.patience.peer), lost_limit_(settings.patience.replacement()) {
  GroupFactory factory(meeting.rendezvous(), settings.host, meeting.rank(), patience_, names_of_workers(*assignment));
  interrupt_ = factory.interrupt();
  connect(assignment, meeting, factory);
}

FollowEnds::~FollowEnds() { break_off(); }

// In one order on all workers, so that none waits for another in a circle.
void FollowEnds::connect(const std::shared_ptr<const Assignment>& assignment, Meeting& meeting, GroupFactory& factory) {
  FollowPlan plan = meeting.following();
  std::vector<std::unique_ptr<Outlet>> outlets;
  std::vector<std::unique_ptr<FollowedStream>> followed;
  try {
    for (auto& [feeder, follower, shards] : plan.streams) {
      if (meeting.rank() != feeder && meeting.rank() != follower) continue;
      auto group = factory.make_message_group(fmt::format("follow-{}-{}", feeder, follower), {feeder, follower});
      FollowLink link(std::move(group), meeting.rank() == feeder ? follower : feeder, patience_);
      if (meeting.rank() == feeder) {
        outlets.push_back(std::make_unique<Outlet>(std::move(shards), std::move(link)));
      } else {
        followed.push_back(std::make_unique<FollowedStream>(assignment, std::move(shards), std::move(link)));
      }
    }
  } catch (const PeerLost& error) {
    log_info("nobody follows", {{"why", error.what()}});
    unconnected_ = Outlet::Clock::now();
    interrupt_->raise();
    return;
  }
  if (!outlets.empty()) {
    feeding_ = std::make_unique<Feeding>(std::move(outlets),
                                         Feeding::Limits{.lost = lost_limit_, .all = kStateStreamingLimit});
  }
  if (!followed.empty()) following_ = std::make_unique<Following>(plan.generation, std::move(followed));
}

bool FollowEnds::is_settled() const {
  if (unconnected_) return Outlet::Clock::now() > *unconnected_ + lost_limit_;
  return !feeding_ || feeding_->is_settled();
}

void FollowEnds::end_feeding() {
  if (feeding_) feeding_->stop();
}

void FollowEnds::break_off() {
  end_feeding();
  if (following_) following_->stop();
  interrupt_->raise();
}

bool FollowEnds::is_over() const {
  return (!feeding_ || feeding_->is_over()) && has_followed_within(std::chrono::milliseconds(0));
}

bool FollowEnds::has_followed_within(std::chrono::milliseconds patience) const {
  return !following_ || following_->is_over_within(patience);
}

std::optional<Followed> FollowEnds::take_followed(const ModelSpec& model) {
  return following_ ? following_->take(model) : std::nullopt;
}

}  // namespace sailor::trainer
