#include "trainer/elastic/preparation.h"

#include <utility>

#include <c10/core/DeviceGuard.h>

#include "planner/model/check.h"
#include "trainer/device.h"
#include "trainer/elastic/protocol/order.h"
#include "trainer/elastic/supported.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLook{20};  // how soon a wait notices that a newer generation is known

}  // namespace

Preparation::Preparation(std::shared_ptr<const Assignment> assignment, const WorkerSettings& settings,
                         const Inbox& inbox)
    : assignment_(std::move(assignment)), settings_(settings), inbox_(inbox), thread_([this] { run(); }) {}

Preparation::~Preparation() {
  deadline_ = Clock::time_point::min();
  thread_.join();
}

bool Preparation::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
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
  if (!prepared.membership.meeting->gather(deadline_)) return std::nullopt;
  if (!assignment_->parks) connect(*assignment_, settings_.host, settings_.patience, prepared.membership);
  return prepared;
}

}  // namespace sailor::trainer
