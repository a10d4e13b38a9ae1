// Many changes of shape leave nothing behind: no descriptor, no thread, no memory, no key in the rendezvous store.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"

namespace sailor::trainer::testing {
namespace {

std::ptrdiff_t entries_of(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

long resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

struct Usage {
  std::ptrdiff_t descriptors = entries_of("/proc/self/fd");
  std::ptrdiff_t threads = entries_of("/proc/self/task");
  long kilobytes = resident_kilobytes();
};

// Returns what is in use once no more than before is, or after some seconds. Workers close old connections while they
// train.
Usage usage_down_to(const Usage& before) {
  constexpr std::chrono::seconds kLongest{10};
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  Usage now;
  while ((now.descriptors > before.descriptors || now.threads > before.threads) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    now = {};
  }
  return now;
}

TEST(Leaks, ManyChangesOfShapeLeaveNothingBehind) {
  constexpr int kBefore = 12, kChanges = 48;  // the same plan at the end as when it is counted first
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  job.plan.peer_replicas = true;
  const Plan plans[] = {plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), plan_of(job, {{0, 5, {4, 4}}}),
                        plan_of(job, {{0, 5, {8}, {2}}}), plan_of(job, {{0, 5, {8}}})};  // after which one follows
  WorkerThreads workers(2);
  int number = 0;
  std::size_t keys = 0;  // in the store
  const auto change = [&] {
    ++number;
    const Assignment next = generation(job, number, plans[number % 4], workers.agents());
    workers.assign(next);
    for (const int worker : {0, 1}) {
      workers.wait_until(worker, [&](const WorkerReport& report) {
        return report.generation == number &&
               (report.phase == WorkerPhase::kTraining || report.phase == WorkerPhase::kReleased);
      });
    }
    keys = workers.forget_before(next);
  };
  while (number < kBefore) change();
  const Usage before;
  const std::size_t keys_before = keys;
  while (number < kBefore + kChanges) change();
  const Usage after = usage_down_to(before);
  for (const int worker : {0, 1}) workers.lose(worker);
  EXPECT_GT(keys, 0);
  EXPECT_LT(keys, keys_before + kChanges) << "one or more of each change is left";
  EXPECT_LE(after.descriptors, before.descriptors);
  EXPECT_LE(after.threads, before.threads);
  EXPECT_LE(after.kilobytes, before.kilobytes + 20'000);
  RecordProperty("kilobytes", std::to_string(after.kilobytes - before.kilobytes));
}

}  // namespace
}  // namespace sailor::trainer::testing
