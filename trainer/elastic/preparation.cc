#include "trainer/elastic/preparation.h"

#include <utility>

#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "planner/model/check.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/device.h"
#include "trainer/elastic/peer_names.h"
#include "trainer/elastic/protocol/order.h"
#include "trainer/elastic/supported.h"
#include "trainer/log.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLook{20};  // how soon a wait notices that a newer generation is known
constexpr int kMostWaits = 4;  // for workers to join, that followers may put off a change: the operator waits longer

}  // namespace

Preparation::Preparation(std::shared_ptr<const Assignment> assignment, Standing standing,
                         const WorkerSettings& settings, const Inbox& inbox)
    : assignment_(std::move(assignment)),
      standing_(std::move(standing)),
      settings_(settings),
      inbox_(inbox),
      thread_([this] { run(); }) {}

Preparation::~Preparation() {
  abandon();
  thread_.join();
}

bool Preparation::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

Feeding* Preparation::feeding() const {
  const std::lock_guard lock(mutex_);
  return is_over_ ? feeding_.get() : nullptr;
}

Following* Preparation::following() const {
  const std::lock_guard lock(mutex_);
  return is_over_ ? following_.get() : nullptr;
}

void Preparation::abandon() {
  deadline_ = Clock::time_point::min();
  const std::lock_guard lock(mutex_);
  is_abandoned_ = true;
  stop_followers();
}

bool Preparation::has_ended() const {
  const std::lock_guard lock(mutex_);
  return is_over_ && (!feeding_ || feeding_->is_over()) &&
         (!following_ || following_->is_over_within(std::chrono::milliseconds(0)));
}

std::optional<Prepared> Preparation::take() {
  deadline_ = Clock::now() + settings_.patience.join;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [&] { return is_over_; })) {
    if (inbox_.has_newer_than(generation())) return std::nullopt;
  }
  if (error_) std::rethrow_exception(error_);
  return std::exchange(prepared_, std::nullopt);
}

void Preparation::run() {
  std::optional<Prepared> prepared;
  std::exception_ptr error;
  try {
    prepared = prepare();
  } catch (...) {  // for take() to throw
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  prepared_ = std::move(prepared);
  error_ = error;
  is_over_ = true;
  if (is_abandoned_) stop_followers();
  changed_.notify_all();
}

void Preparation::stop_followers() {
  if (feeding_) feeding_->stop();
  if (following_) following_->stop();
}

std::optional<Prepared> Preparation::prepare() {
  const c10::DeviceGuard device(compute_device());  // each thread has its own
  if (auto supported = check_supported(*assignment_); !supported) throw CannotTrain(supported.error().message);
  const auto rank = slot_of(*assignment_, {settings_.agent, settings_.gpu});
  SAILOR_CHECK(rank, "worker {}/{} meets without a slot", settings_.agent, settings_.gpu);
  Prepared prepared;
  prepared.membership.patience = settings_.patience;
  if (*rank < assignment_->training_workers()) {
    auto batches = Batches::open(assignment_->data, assignment_->training, assignment_->model.vocab_size);
    if (!batches) throw CannotTrain(batches.error().message);
    prepared.batches = *std::move(batches);
  }
  prepared.membership.meeting = std::make_unique<Meeting>(assignment_, *rank, settings_.patience, inbox_);
  if (!prepared.membership.meeting->gather(standing_, deadline_)) return std::nullopt;
  if (assignment_->parks) return prepared;
  connect(*assignment_, settings_.host, settings_.patience, prepared.membership);
  connect_followers(*prepared.membership.meeting);
  return prepared;
}

// In one order on all workers, so that none waits for another in a circle. Nothing depends on it: without it the state
// moves at the meeting.
void Preparation::connect_followers(Meeting& meeting) {
  FollowPlan plan = meeting.following();
  GroupFactory factory(meeting.rendezvous(), settings_.host, meeting.rank(), settings_.patience.peer,
                       names_of_workers(*assignment_));
  std::vector<std::unique_ptr<Outlet>> outlets;
  std::vector<std::unique_ptr<FollowedStream>> followed;
  try {
    for (auto& [feeder, follower, portions] : plan.streams) {
      if (meeting.rank() != feeder && meeting.rank() != follower) continue;
      auto group = factory.make_messages(fmt::format("follow-{}-{}", feeder, follower), {feeder, follower});
      FollowLink link(std::move(group), meeting.rank() == feeder ? follower : feeder, settings_.patience.peer);
      if (meeting.rank() == feeder) {
        outlets.push_back(std::make_unique<Outlet>(std::move(portions), std::move(link)));
      } else {
        followed.push_back(std::make_unique<FollowedStream>(assignment_, std::move(portions), std::move(link)));
      }
    }
  } catch (const PeerLost& error) {
    log_info("nobody follows", {{"why", error.what()}});
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!outlets.empty()) feeding_ = std::make_unique<Feeding>(std::move(outlets), kMostWaits * settings_.patience.join);
  if (!followed.empty()) following_ = std::make_unique<Following>(plan.generation, std::move(followed));
}

}  // namespace sailor::trainer
