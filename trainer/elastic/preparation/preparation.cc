#include "trainer/elastic/preparation/preparation.h"

#include <utility>

#include <c10/core/DeviceGuard.h>

#include "core/model/check.h"
#include "trainer/device/device.h"
#include "trainer/elastic/preparation/supported.h"
#include "trainer/elastic/protocol/command.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLook{20};  // how soon a wait notices that a newer generation is known

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

bool Preparation::puts_off_the_switch() const {
  const std::lock_guard lock(mutex_);
  if (!is_over_) return true;
  if (error_) return Clock::now() < failed_ + settings_.patience.replacement();
  return ends_ && !ends_->is_settled();
}

Feeding* Preparation::feeding() const {
  const std::lock_guard lock(mutex_);
  return ends_ ? ends_->feeding() : nullptr;
}

void Preparation::abandon() {
  deadline_ = Clock::time_point::min();
  const std::lock_guard lock(mutex_);
  is_abandoned_ = true;
  if (ends_) ends_->break_off();
}

bool Preparation::has_ended() const {
  const std::lock_guard lock(mutex_);
  return is_over_ && (!ends_ || ends_->is_over());
}

std::optional<Prepared> Preparation::take() {
  deadline_ = Clock::now() + settings_.patience.join;
  if (!await_end()) return std::nullopt;
  if (error_) std::rethrow_exception(error_);
  if (ends_ && !await_followed()) return std::nullopt;
  return std::exchange(prepared_, std::nullopt);
}

// False, here and below: a newer generation is known.
bool Preparation::await_end() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [&] { return is_over_; })) {
    if (inbox_.has_newer_than(generation())) return false;
  }
  return true;
}

bool Preparation::await_followed() {
  ends_->end_feeding();
  while (!ends_->has_followed_within(kLook)) {
    if (inbox_.has_newer_than(generation())) return false;
  }
  prepared_->followed = ends_->take_followed(assignment_->model);
  return true;
}

void Preparation::run() {
  std::optional<Prepared> prepared;
  std::unique_ptr<FollowEnds> ends;
  std::exception_ptr error;
  try {
    prepared = prepare();
    if (prepared && prepared->membership.everyone) {
      ends = std::make_unique<FollowEnds>(assignment_, *prepared->membership.meeting, settings_);
    }
  } catch (...) {  // for take() to throw
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  prepared_ = std::move(prepared);
  ends_ = std::move(ends);
  error_ = error;
  failed_ = Clock::now();
  is_over_ = true;
  if (is_abandoned_ && ends_) ends_->break_off();
  changed_.notify_all();
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
  if (assignment_->releases_gpus) return prepared;
  connect(*assignment_, settings_.host, settings_.patience, prepared.membership);
  return prepared;
}

}  // namespace sailor::trainer
