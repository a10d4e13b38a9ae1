#include "trainer/elastic/preparation/preparation.h"

#include <algorithm>
#include <utility>

#include <c10/core/DeviceGuard.h>

#include "core/log/log.h"
#include "core/model/check.h"
#include "trainer/device/device.h"
#include "trainer/device/host_memory.h"
#include "trainer/elastic/preparation/supported_settings.h"
#include "trainer/elastic/protocol/command.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kPoll{20};           // how soon a wait notices that a newer generation is known
constexpr std::chrono::milliseconds kUnsentPeriod{500};  // between two reports of the state that is not sent yet

// What a worker that trains may receive meanwhile: its part of half of the pod's memory that is left, because loading
// data and writing checkpoints need memory as well.
std::optional<std::int64_t> room_of(const Assignment& assignment, int rank) {
  const auto agent = static_cast<std::size_t>(assignment.workers.at(static_cast<std::size_t>(rank)).agent);
  const auto available = available_host_memory();
  return available ? std::optional(*available / 2 / std::max(1, assignment.agents.at(agent).gpus)) : std::nullopt;
}

}  // namespace

Preparation::Preparation(std::shared_ptr<const Assignment> assignment, PreparationReport preparation_report,
                         const PreparingWorker& worker)
    : assignment_(std::move(assignment)),
      preparation_report_(std::move(preparation_report)),
      settings_(worker.settings),
      mailbox_(worker.mailbox),
      live_(worker.live),
      on_unsent_(worker.on_unsent),
      thread_([this] { run(); }) {}

Preparation::~Preparation() {
  abandon();
  thread_.join();
}

bool Preparation::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

bool Preparation::delays_switch() const {
  const std::lock_guard lock(mutex_);
  if (!is_over_) return true;
  if (error_) return Clock::now() < failed_ + settings_.timeouts.replacement();
  return connections_ && !connections_->is_settled();
}

void Preparation::abandon() {
  deadline_ = Clock::time_point::min();
  const std::lock_guard lock(mutex_);
  is_abandoned_ = true;
  if (!is_over_) connecting_->raise();
  changed_.notify_all();
  if (connections_) connections_->break_off();
}

bool Preparation::is_over_with_streams() const {
  const std::lock_guard lock(mutex_);
  return is_over_ && (!connections_ || connections_->is_over());
}

std::optional<Prepared> Preparation::take() {
  deadline_ = Clock::now() + settings_.timeouts.join;
  {
    const std::lock_guard lock(mutex_);
    is_taken_ = true;
    changed_.notify_all();
  }
  if (!await_end()) return std::nullopt;
  if (error_) std::rethrow_exception(error_);
  if (connections_ && !await_received()) return std::nullopt;
  return std::exchange(prepared_, std::nullopt);
}

// This function and the next one return false if a newer generation is known.
bool Preparation::await_end() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPoll, [&] { return is_over_; })) {
    if (mailbox_.has_newer_than(generation())) return false;
  }
  return true;
}

bool Preparation::await_received() {
  connections_->end_streaming();
  while (!connections_->has_received_within(kPoll)) {
    if (mailbox_.has_newer_than(generation())) return false;
  }
  prepared_.value().received = connections_->take_received(assignment_->model);
  return true;
}

void Preparation::run() {
  std::optional<Prepared> prepared;
  std::unique_ptr<StreamConnections> ends;
  std::exception_ptr error;
  try {
    prepared = prepare();
    if (prepared && prepared->membership.everyone) {
      ends = std::make_unique<StreamConnections>(assignment_, *prepared->membership.rendezvous, settings_, live_);
    }
  } catch (...) {  // take() throws it
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    prepared_ = std::move(prepared);
    connections_ = std::move(ends);
    error_ = error;
    failed_ = Clock::now();
    is_over_ = true;
    if (is_abandoned_ && connections_) connections_->break_off();
    changed_.notify_all();
  }
  if (assignment_->leave_by && preparation_report_.trains > 0 && !error) leave_in_time();
}

// Ends the running generation in the middle of a step as soon as it is clear that the step does not end before pods
// that leave may be gone. What was not streamed until then moves during the pause, which costs no more than computing
// in vain.
void Preparation::leave_in_time() {
  const auto limit = assignment_->leave_by.value() - kTimeToLeave;
  auto report_at = Clock::now();
  std::unique_lock lock(mutex_);
  while (!is_abandoned_ && !is_taken_) {
    if (connections_ && Clock::now() >= report_at) {
      on_unsent_(connections_->unsent());
      report_at = Clock::now() + kUnsentPeriod;
    }
    const auto left = limit - std::chrono::system_clock::now();
    const auto end = live_.expected_end();
    const bool ends_in_time = !end || *end - Clock::now() < left;
    if (left < left.zero() || !ends_in_time) {
      log_info("step dropped", {{"generation", std::to_string(preparation_report_.trains)},
                                {"why", "it would not end before the pods that leave are gone"}});
      mailbox_.interrupt();
      return;
    }
    changed_.wait_for(lock, kPoll);
  }
}

std::optional<Prepared> Preparation::prepare() {
  const c10::DeviceGuard device(compute_device());  // the current device is a setting of the thread
  if (auto supported = check_supported(*assignment_); !supported) throw CannotTrain(supported.error().message);
  const auto rank = rank_of(*assignment_, {settings_.agent, settings_.gpu});
  SAILOR_CHECK(rank, "worker {}/{} prepares a generation without a slot for it", settings_.agent, settings_.gpu);
  Prepared prepared;
  prepared.membership.timeouts = settings_.timeouts;
  if (*rank < assignment_->training_workers()) {
    auto batches = Batches::open(assignment_->data, assignment_->training, assignment_->model.vocab_size);
    if (!batches) throw CannotTrain(batches.error().message);
    prepared.batches = *std::move(batches);
  }
  prepared.membership.rendezvous =
      std::make_unique<GenerationRendezvous>(assignment_, *rank, settings_.timeouts, mailbox_);
  PreparationReport report = preparation_report_;
  if (report.trains > 0) report.room = room_of(*assignment_, *rank);
  if (!prepared.membership.rendezvous->gather(report, deadline_)) return std::nullopt;
  if (assignment_->releases_gpus) return prepared;
  connect(*assignment_, settings_, connecting_, prepared.membership);
  return prepared;
}

}  // namespace sailor::trainer
