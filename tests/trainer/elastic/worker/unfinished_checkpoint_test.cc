// Checkpoints that are still being written when a change of plan ends their generation. Real workers over real Gloo, a
// thread each.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"
#include "trainer/checkpoint/folders.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

// While it exists, a thread that opens the file for writing waits (fcntl(2), F_SETLEASE; at most 45 s).
class WritingIsDelayed {
 public:
  explicit WritingIsDelayed(const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream{file};
    fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    // The kernel tells the holder of a lease that somebody waits, by a signal; this one is ignored by default.
    if (::fcntl(fd_, F_SETSIG, SIGURG) != 0 || ::fcntl(fd_, F_SETLEASE, F_RDLCK) != 0) ADD_FAILURE() << "no lease";
  }
  ~WritingIsDelayed() { end(); }
  WritingIsDelayed(const WritingIsDelayed&) = delete;
  WritingIsDelayed& operator=(const WritingIsDelayed&) = delete;
  void end() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// A job of two workers that has a checkpoint of step 2 in progress: worker 1 has not written one of its files.
struct JobWithUnfinishedCheckpoint {
  Scratch scratch;
  Assignment job = a_job(scratch);
  WritingIsDelayed file{step_folder(checkpoint_folder(job), 2) / "piece-003-01.bin.part"};
  WorkerThreads workers{2};

  JobWithUnfinishedCheckpoint() {
    workers.assign(generation(job, 1, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()));
    await_step(1, 4);
  }

  void await_step(std::int64_t of_generation, std::int64_t step) {
    for (const int worker : {0, 1}) {
      workers.wait_until(worker, [=](const WorkerReport& report) {
        const bool is_there = report.phase == WorkerPhase::kTraining || report.phase == WorkerPhase::kPreparing;
        return is_there && report.generation == of_generation && report.step >= step;
      });
    }
  }

  // The worker of the first agent gets all layers, and the other one leaves. No other checkpoint starts.
  void change_to_one_stage(const std::vector<AgentAddress>& agents) {
    job.checkpoint.every_steps = kStepsWithoutEnd;
    workers.assign(generation(job, 2, plan_of(job, {{0, 5, {8}}}), agents));
  }

  [[nodiscard]] std::vector<std::int64_t> complete() const { return complete_checkpoints(checkpoint_folder(job)); }
  // Expects the checkpoint of step 2 after at most a thousand steps of this worker, or after newer checkpoints.
  void expect_completed(int worker) {
    workers.wait_until(worker, [&, last = workers.last(worker).step + 1000](const WorkerReport& report) {
      return !complete().empty() || report.step > last;
    });
    EXPECT_THAT(complete(), Contains(2));
  }

  static Assignment a_job(const Scratch& scratch) {
    Assignment job = tiny_job(scratch.text());
    job.training.steps = kStepsWithoutEnd;
    job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 2, .keep = 1000};
    return job;
  }
};

TEST(UnfinishedCheckpoints, AreCompletedInTheNextGenerationBeforeAnotherOneStarts) {
  JobWithUnfinishedCheckpoint unfinished;
  Assignment& job = unfinished.job;
  WorkerThreads& workers = unfinished.workers;
  workers.assign(generation(job, 2, plan_of(job, {{0, 3, {8}}, {3, 5, {8}}}), workers.agents()));
  unfinished.await_step(2, workers.last(0).step + 10);
  EXPECT_THAT(unfinished.complete(), IsEmpty());

  unfinished.file.end();
  unfinished.expect_completed(0);
  workers.wait_until(0, [&](const WorkerReport&) { return unfinished.complete().size() > 2; });
  workers.assign(releasing_assignment(job, 3, workers));
}

TEST(UnfinishedCheckpoints, AreWrittenByAWorkerThatLeavesBeforeItIsReleased) {
  JobWithUnfinishedCheckpoint unfinished;
  WorkerThreads& workers = unfinished.workers;
  unfinished.change_to_one_stage(workers.agents());
  workers.wait_until(
      0, [](const WorkerReport& report) { return report.generation == 2 && report.phase == WorkerPhase::kTraining; });
  workers.wait_until(0, [step = workers.last(0).step](const WorkerReport& report) { return report.step > step + 10; });
  EXPECT_NE(workers.last(1).phase, WorkerPhase::kReleased);
  EXPECT_THAT(unfinished.complete(), IsEmpty());

  unfinished.file.end();
  unfinished.expect_completed(0);
  workers.wait_until(1, [](const WorkerReport& report) { return report.phase == WorkerPhase::kReleased; });
  workers.assign(releasing_assignment(unfinished.job, 3, workers));
}

TEST(UnfinishedCheckpoints, AreCompletedByAnotherWorkerIfWorker0Leaves) {
  JobWithUnfinishedCheckpoint unfinished;
  WorkerThreads& workers = unfinished.workers;
  std::vector<AgentAddress> agents = workers.agents();
  std::ranges::reverse(agents);
  unfinished.change_to_one_stage(agents);
  workers.wait_until(0, [](const WorkerReport& report) { return report.phase == WorkerPhase::kReleased; });
  EXPECT_THAT(unfinished.complete(), IsEmpty());

  unfinished.file.end();
  unfinished.expect_completed(1);
  workers.assign(releasing_assignment(unfinished.job, 3, workers));
  workers.wait_until(1, [](const WorkerReport& report) { return report.phase == WorkerPhase::kReleased; });
}

}  // namespace
}  // namespace sailor::trainer::testing
