#include "tests/trainer/support/worker_threads.h"

#include <chrono>
#include <condition_variable>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/protocol/ports.h"
#include "tests/trainer/support/assignments.h"
#include "trainer/device/device.h"
#include "trainer/elastic/control/reporter.h"
#include "trainer/elastic/worker/worker.h"

namespace sailor::trainer::testing {
namespace {

// A step of the old generation takes at least this long during a change, so that few of them pass.
constexpr std::chrono::milliseconds kStepDuringChange{50};

std::string name_of(int worker) { return fmt::format("pod-{}", worker); }

}  // namespace

struct WorkerThreads::Collector {
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::map<int, WorkerReport> last;
  std::map<std::int64_t, double> losses;
  JobProgress progress;
  // Rank 0's worker is halted when it has trained this many steps of this generation; 0: it is not halted.
  std::int64_t halting_generation = 0;
  std::int64_t halting_steps = 0;
  bool is_halted = false;

  [[nodiscard]] bool halts(const JobProgress& at) const {
    return at.generation == halting_generation && at.step >= at.resumed_step + halting_steps;
  }
};

namespace {

template <class Collector>
class CollectingReporter : public Reporter {
 public:
  CollectingReporter(Collector& collector, int worker) : collector_(collector), worker_(worker) {}
  void report(const WorkerReport& report, const std::optional<JobProgress>& progress) override {
    std::unique_lock lock(collector_.mutex);
    collector_.last[worker_] = report;
    if (progress && progress->tokens_per_second > 0) {
      collector_.losses[progress->step] = progress->loss;
      collector_.progress = *progress;
    }
    collector_.changed.notify_all();
    if (!progress) return;
    const auto is_older = [&] { return progress->generation < collector_.halting_generation; };
    if (is_older()) collector_.changed.wait_for(lock, kStepDuringChange, [&] { return !is_older(); });
    collector_.is_halted = collector_.halts(*progress);
    collector_.changed.notify_all();
    collector_.changed.wait(lock, [&] { return !collector_.halts(*progress); });
  }

 private:
  Collector& collector_;
  int worker_;
};

}  // namespace

WorkerThreads::WorkerThreads(int count, const MakeDeviceBackend& collectives)
    : host_(own_address()), collector_(std::make_unique<Collector>()) {
  set_cpu_threads(1);
  auto store = RendezvousServer::listen(host_, kStorePort);
  if (!store) throw std::runtime_error(store.error().message);
  store_ = *std::move(store);
  for (int worker = 0; worker < count; ++worker) mailboxes_.push_back(std::make_unique<AssignmentMailbox>());
  for (int worker = 0; worker < count; ++worker) {
    threads_.emplace_back([this, worker, collectives, &mailbox = *mailboxes_[static_cast<std::size_t>(worker)]] {
      set_cpu_threads(1);
      CollectingReporter reporter(*collector_, worker);
      run_worker({.agent = name_of(worker),
                  .host = host_,
                  .gpu = 0,
                  .timeouts = {.last_checkpoint = std::chrono::seconds(10)},
                  .make_device_backend = collectives},
                 mailbox, reporter);
    });
  }
}

WorkerThreads::~WorkerThreads() { join(); }

std::vector<AgentAddress> WorkerThreads::agents() const {
  std::vector<AgentAddress> agents;
  for (int worker = 0; worker < std::ssize(mailboxes_); ++worker) {
    agents.push_back(
        {.name = name_of(worker), .host = host_, .port = 1, .store_port = kStorePort, .pool = {}, .gpus = 1});
  }
  return agents;
}

void WorkerThreads::assign(const Assignment& assignment) {
  for (const auto& mailbox : mailboxes_) mailbox->put(assignment);
  halt_after(assignment.generation, kStepsWithoutEnd);
}

void WorkerThreads::assign(int worker, const Assignment& assignment) {
  mailboxes_.at(static_cast<std::size_t>(worker))->put(assignment);
}

void WorkerThreads::resume() { halt_nobody(); }

void WorkerThreads::train(const Assignment& assignment, std::int64_t steps) {
  for (const auto& mailbox : mailboxes_) mailbox->put(assignment);
  halt_after(assignment.generation, steps);
  std::unique_lock lock(collector_->mutex);
  collector_->changed.wait(lock, [&] { return collector_->is_halted; });
}

std::size_t WorkerThreads::forget_before(const Assignment& assignment) {
  const auto left = store_->delete_generations_before(assignment.job_uid, assignment.generation);
  if (!left) throw std::runtime_error(left.error().message);
  return *left;
}

void WorkerThreads::lease(int worker, const Lease& lease) {
  mailboxes_.at(static_cast<std::size_t>(worker))->renew(lease);
}

void WorkerThreads::lose(int worker) {
  mailboxes_[static_cast<std::size_t>(worker)]->close();
  halt_nobody();
  threads_[static_cast<std::size_t>(worker)].join();
}

void WorkerThreads::lose_all() {
  for (int worker = 0; worker < std::ssize(threads_); ++worker) {
    if (threads_[static_cast<std::size_t>(worker)].joinable()) lose(worker);
  }
}

void WorkerThreads::halt_nobody() { halt_after(0, 0); }

void WorkerThreads::halt_after(std::int64_t generation, std::int64_t steps) {
  const std::lock_guard lock(collector_->mutex);
  collector_->halting_generation = generation;
  collector_->halting_steps = steps;
  collector_->is_halted = false;
  collector_->changed.notify_all();
}

void WorkerThreads::join() {
  for (int worker = 0; worker < std::ssize(threads_); ++worker) {
    if (!threads_[static_cast<std::size_t>(worker)].joinable()) continue;
    wait_until(worker, [](const WorkerReport& report) {
      return report.phase == WorkerPhase::kFinished || report.phase == WorkerPhase::kFailed ||
             report.phase == WorkerPhase::kReleased || report.phase == WorkerPhase::kIdle;
    });
    mailboxes_[static_cast<std::size_t>(worker)]->close();
    threads_[static_cast<std::size_t>(worker)].join();
  }
}

std::map<std::int64_t, double> WorkerThreads::losses() const {
  const std::lock_guard lock(collector_->mutex);
  return collector_->losses;
}

WorkerReport WorkerThreads::last(int worker) const {
  const std::lock_guard lock(collector_->mutex);
  return collector_->last.at(worker);
}

JobProgress WorkerThreads::progress() const {
  const std::lock_guard lock(collector_->mutex);
  return collector_->progress;
}

void WorkerThreads::wait_until(int worker, const std::function<bool(const WorkerReport&)>& is_so) const {
  std::unique_lock lock(collector_->mutex);
  collector_->changed.wait(lock,
                           [&] { return collector_->last.contains(worker) && is_so(collector_->last.at(worker)); });
}

Assignment releasing_assignment(const Assignment& job, std::int64_t number, const WorkerThreads& workers) {
  Assignment assignment = generation(job, number, plan_of(job, {{0, 5, {8}}}), workers.agents());
  assignment.releases_gpus = true;
  for (WorkerSlot& worker : assignment.workers) worker.role.reset();
  return assignment;
}

std::map<std::int64_t, double> losses_of(const Assignment& job, const Plan& plan) {
  WorkerThreads workers(gpu_count(plan));
  workers.assign(generation(job, 1, plan, workers.agents()));
  for (int worker = 0; worker < gpu_count(plan); ++worker) {
    workers.wait_until(worker, [](const WorkerReport& report) { return report.generation == 1; });
  }
  workers.join();
  return workers.losses();
}

void expect_undisturbed(Assignment job, std::map<std::int64_t, double> losses, double tolerance,
                        std::size_t workers_lost) {
  ASSERT_FALSE(losses.empty());
  job.training.steps = losses.rbegin()->first;
  const auto reference = losses_of(job, plan_of(job, {{0, 5, {8}}}));
  EXPECT_GE(losses.size() + workers_lost, reference.size());
  losses.insert(reference.begin(), reference.end());
  ASSERT_EQ(losses.size(), reference.size());
  for (const auto& [step, loss] : reference) {
    EXPECT_NEAR(losses.at(step), loss, loss * tolerance) << "at step " << step;
  }
}

}  // namespace sailor::trainer::testing
