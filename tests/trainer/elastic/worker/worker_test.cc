// Workers over generations: planned changes, checkpoints, refusals. Real workers over real Gloo, a thread each.
#include "trainer/elastic/worker/worker.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"
#include "trainer/checkpoint/folders.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::HasSubstr;
using Losses = std::map<std::int64_t, double>;

constexpr double kTolerance = 1e-4;  // relative: rounding grows over many steps

void wait_for_step(const WorkerThreads& workers, int worker, std::int64_t step) {
  workers.wait_until(worker, [=](const WorkerReport& report) { return report.step >= step; });
}

void wait_for_generation(const WorkerThreads& workers, int count, std::int64_t generation) {
  for (int worker = 0; worker < count; ++worker) {
    workers.wait_until(worker, [=](const WorkerReport& report) { return report.generation == generation; });
  }
}

TEST(Worker, APlannedChangeLosesNothing) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  WorkerThreads workers(4);
  workers.train(generation(job, 1, plan_of(job, {{0, 2, {4, 4}}, {2, 5, {8}}}), workers.agents()), 5);
  workers.train(generation(job, 2, plan_of(job, {{0, 3, {8}}, {3, 4, {2, 6}}, {4, 5, {8}}}), workers.agents()), 20);
  workers.lose_all();

  expect_undisturbed(job, workers.losses(), kTolerance);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  EXPECT_GE(workers.progress().resumed_step, 5);
  job.training.steps = 1;
  EXPECT_DOUBLE_EQ(workers.progress().first_loss, losses_of(job, plan_of(job, {{0, 5, {8}}})).at(1));
}

TEST(Worker, ALeavingWorkerHandsOverAndIsReleased) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  WorkerThreads workers(2);
  workers.train(generation(job, 1, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()), 5);
  // The only holder of 2 to 5 leaves.
  workers.train(generation(job, 2, plan_of(job, {{0, 5, {8}}}), workers.agents()), 20);
  workers.wait_until(1, [](const WorkerReport& report) { return report.phase == WorkerPhase::kReleased; });
  workers.lose_all();
  expect_undisturbed(job, workers.losses(), kTolerance);
}

TEST(Worker, AReleasedJobIsSavedAtItsNewestStepAndResumesThere) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  const Assignment plain = job;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 1000, .keep = 2};

  WorkerThreads workers(3);
  workers.train(generation(job, 1, plan_of(job, {{0, 2, {4, 4}}, {2, 5, {8}}}), workers.agents()), 5);
  workers.assign(releasing_assignment(job, 2, workers));
  for (int worker = 0; worker < 3; ++worker) {
    workers.wait_until(worker, [](const WorkerReport& report) { return report.phase == WorkerPhase::kReleased; });
  }
  const auto saved = complete_checkpoints(checkpoint_folder(job));
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(saved.front(), workers.losses().rbegin()->first);
  EXPECT_EQ(workers.progress().generation, 2);
  EXPECT_EQ(workers.progress().step, saved.front());
  EXPECT_EQ(workers.progress().last_checkpoint_step, saved.front());
  EXPECT_DOUBLE_EQ(workers.progress().loss, workers.losses().at(saved.front()));

  workers.train(generation(job, 3, plan_of(job, {{0, 5, {4, 4}}}), workers.agents()), 20);
  workers.lose_all();
  EXPECT_EQ(workers.progress().resumed_step, saved.front());
  EXPECT_EQ(workers.progress().steps_lost, 0);
  EXPECT_EQ(workers.progress().source, StateSource::kCheckpoint);
  expect_undisturbed(plain, workers.losses(), kTolerance);
}

TEST(Worker, AJobThatCannotBeSavedKeepsItsStateAndSaysWhy) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  WorkerThreads workers(1);
  workers.train(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()), 3);
  workers.assign(releasing_assignment(job, 2, workers));
  workers.wait_until(0, [](const WorkerReport& report) { return report.phase == WorkerPhase::kBroken; });
  EXPECT_THAT(workers.last(0).message, HasSubstr("checkpoint.path"));
  workers.train(generation(job, 3, plan_of(job, {{0, 5, {8}}}), workers.agents()), 3);
  workers.lose_all();
  EXPECT_EQ(workers.progress().steps_lost, 0);
  EXPECT_EQ(workers.progress().source, StateSource::kMemory);
}

TEST(Worker, StateWithoutAHolderComesFromTheNewestCheckpointUnderAnyPlan) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 10;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 4, .keep = 2};
  const Losses first = losses_of(job, plan_of(job, {{0, 2, {5, 3}}, {2, 5, {8}}}));
  ASSERT_THAT(complete_checkpoints(checkpoint_folder(job)), ::testing::Contains(10));
  EXPECT_LE(complete_checkpoints(checkpoint_folder(job)).size(), 2U);

  Assignment longer = job;
  longer.training.steps = 14;
  WorkerThreads workers(3);
  workers.assign(generation(longer, 5, plan_of(job, {{0, 4, {8}}, {4, 5, {4, 4}}}), workers.agents()));
  wait_for_generation(workers, 3, 5);
  workers.join();
  EXPECT_EQ(workers.progress().resumed_step, 10);
  EXPECT_DOUBLE_EQ(workers.progress().first_loss, first.at(1));

  longer.checkpoint = {};
  const Losses reference = losses_of(longer, plan_of(job, {{0, 5, {8}}}));
  for (const auto& [step, loss] : workers.losses()) EXPECT_NEAR(loss, reference.at(step), loss * kTolerance);
}

// The step of the newest complete checkpoint; 0: there is none.
std::int64_t newest_checkpoint(const Assignment& job) {
  const auto complete = complete_checkpoints(checkpoint_folder(job));
  return complete.empty() ? 0 : complete.front();
}

// Trains generation 1 until there is a checkpoint.
void begin_with_a_checkpoint(const Assignment& job, const Plan& plan, WorkerThreads& workers) {
  workers.assign(generation(job, 1, plan, workers.agents()));
  workers.wait_until(0, [&](const WorkerReport&) { return newest_checkpoint(job) > 0; });
}

TEST(Worker, ACheckpointStartsWhenTheNewestOneIsTooOldWhateverItsSteps) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 1'000'000, .every_seconds = 1};
  const Plan plan = plan_of(job, {{0, 2, {4, 4}}, {2, 5, {8}}});
  WorkerThreads workers(3);
  begin_with_a_checkpoint(job, plan, workers);

  job.checkpoint.every_seconds = 3600;
  workers.assign(generation(job, 2, plan, workers.agents()));
  wait_for_generation(workers, 3, 2);
  wait_for_step(workers, 0, workers.last(0).step + 20);
  const std::int64_t before = newest_checkpoint(job);
  EXPECT_LE(before, workers.progress().resumed_step) << "it is younger than an hour";

  const auto manifest = step_folder(checkpoint_folder(job), before) / "manifest.json";
  std::filesystem::last_write_time(manifest, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  workers.assign(generation(job, 3, plan, workers.agents()));
  workers.wait_until(0, [&](const WorkerReport&) { return newest_checkpoint(job) > before; });
  workers.assign(releasing_assignment(job, 4, workers));
}

TEST(Worker, AutomaticCheckpointsFollowTheRateOfFailures) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 2};
  const Plan plan = plan_of(job, {{0, 2, {4, 4}}, {2, 5, {8}}});
  WorkerThreads workers(3);
  begin_with_a_checkpoint(job, plan, workers);

  job.checkpoint.every_steps.reset();
  workers.assign(generation(job, 2, plan, workers.agents()));
  wait_for_generation(workers, 3, 2);
  wait_for_step(workers, 0, workers.last(0).step + 20);
  const std::int64_t before = newest_checkpoint(job);
  EXPECT_LE(before, workers.progress().resumed_step) << "nodes never fail, so an hour passes first";

  job.failures_per_hour = 1e6;
  workers.assign(generation(job, 3, plan, workers.agents()));
  workers.wait_until(0, [&](const WorkerReport&) { return newest_checkpoint(job) > before; });
  workers.assign(releasing_assignment(job, 4, workers));
}

// A job with checkpoints of steps 4 and 8, of which that of step 8 is damaged.
Assignment job_with_a_damaged_checkpoint(const Scratch& scratch) {
  Assignment job = tiny_job(scratch.text());
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 100, .keep = 3};
  for (const std::int64_t steps : {4, 8}) {  // each run ends with a checkpoint
    job.training.steps = steps;
    (void)losses_of(job, plan_of(job, {{0, 5, {8}}}));
  }
  std::fstream stream(step_folder(checkpoint_folder(job), 8) / "piece-003-00.bin",
                      std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-5, std::ios::end);
  stream.put('\x55');
  return job;
}

TEST(Worker, ADamagedCheckpointIsSkippedForAnOlderOne) {
  const Scratch scratch;
  Assignment job = job_with_a_damaged_checkpoint(scratch);
  job.training.steps = 9;
  WorkerThreads workers(2);
  workers.assign(generation(job, 2, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()));
  wait_for_generation(workers, 2, 2);
  workers.join();
  EXPECT_EQ(workers.progress().resumed_step, 4);
}

TEST(Worker, ADamagedCheckpointIsReplacedWhenTheJobReachesItsStepAgain) {
  const Scratch scratch;
  Assignment job = job_with_a_damaged_checkpoint(scratch);
  const Plan plan = plan_of(job, {{0, 5, {8}}});
  (void)losses_of(job, plan);  // from step 4 to its last step, which is 8
  job.training.steps = 9;
  EXPECT_EQ(losses_of(job, plan).begin()->first, 9);
}

TEST(Worker, ADamagedCheckpointDoesNotCountAsTheNewestOne) {
  const Scratch scratch;
  Assignment job = job_with_a_damaged_checkpoint(scratch);
  job.training.steps = kStepsWithoutEnd;
  WorkerThreads workers(1);
  workers.train(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()), 1);
  EXPECT_EQ(workers.progress().resumed_step, 4);
  EXPECT_EQ(workers.progress().last_checkpoint_step, 4);
  workers.lose_all();
}

TEST(Worker, AJobFailsInsteadOfStartingFromTheBeginningIfNoCheckpointCanBeRead) {
  const Scratch scratch;
  Assignment job = job_with_a_damaged_checkpoint(scratch);
  std::ofstream(step_folder(checkpoint_folder(job), 4) / "manifest.json") << "half a man";
  WorkerThreads workers(2);
  workers.assign(generation(job, 2, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()));
  for (const int worker : {0, 1}) {
    workers.wait_until(worker, [](const WorkerReport& report) {
      return report.phase == WorkerPhase::kFailed || report.phase == WorkerPhase::kFinished;
    });
    EXPECT_EQ(workers.last(worker).phase, WorkerPhase::kFailed);
    EXPECT_THAT(workers.last(worker).message, HasSubstr("none of the job's 2 checkpoints"));
  }
  EXPECT_EQ(newest_checkpoint(job), 8) << "they are left as they are";
}

TEST(Worker, TheLastCheckpointIsTriedAgainUntilItIsWritten) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  const auto saved = scratch.folder() / "saved";
  std::ofstream(saved) << "in the folder's place";
  job.checkpoint = {.path = saved.string(), .every_steps = 100, .keep = 1};
  WorkerThreads workers(2);
  workers.assign(generation(job, 1, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.message.find("/step-") != std::string::npos; });
  EXPECT_EQ(workers.last(0).phase, WorkerPhase::kTraining);
  std::filesystem::remove(saved);
  workers.join();
  EXPECT_EQ(workers.last(0).phase, WorkerPhase::kFinished);
  EXPECT_EQ(workers.last(0).message, "");
  EXPECT_EQ(newest_checkpoint(job), job.training.steps);
}

TEST(Worker, AJobThatCannotWriteItsLastCheckpointHandsItsStateToANewerGeneration) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.checkpoint = {.path = (scratch.folder() / "text-0.txt").string(), .every_steps = 100, .keep = 1};  // a file
  WorkerThreads workers(2);
  workers.assign(generation(job, 1, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.message.find("/step-") != std::string::npos; });
  job.checkpoint.path = (scratch.folder() / "saved").string();
  workers.assign(releasing_assignment(job, 2, workers));
  workers.wait_until(0, [](const WorkerReport& report) {
    return report.phase == WorkerPhase::kReleased || report.phase == WorkerPhase::kFinished;
  });
  EXPECT_EQ(workers.last(0).phase, WorkerPhase::kReleased);
  EXPECT_EQ(newest_checkpoint(job), job.training.steps);
}

TEST(Worker, APathThatCannotBeWrittenIsReportedAndTrainingContinues) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.checkpoint = {.path = (scratch.folder() / "text-0.txt").string(), .every_steps = 2, .keep = 1};  // a file
  WorkerThreads workers(1);
  workers.assign(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  wait_for_generation(workers, 1, 1);
  workers.join();
  EXPECT_EQ(workers.last(0).phase, WorkerPhase::kFinished);
  EXPECT_EQ(workers.last(0).step, job.training.steps);
  EXPECT_THAT(workers.last(0).message, HasSubstr("text-0.txt"));
  EXPECT_EQ(workers.progress().last_checkpoint_step, 0);
}

// In one step, so that no writer comes in between.
void exchange(const std::filesystem::path& one, const std::filesystem::path& other) {
  ASSERT_EQ(::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE), 0);
}

TEST(Worker, AFolderThatIsGoneWhileItTrainsIsReportedUntilItIsBack) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  const auto saved = scratch.folder() / "saved", file = scratch.folder() / "a-file";
  std::ofstream(file) << "in the folder's place";
  job.checkpoint = {.path = saved.string(), .every_steps = 2, .keep = 1};
  WorkerThreads workers(1);
  const auto has_checkpoint_after = [&](std::int64_t step) {
    const auto complete = complete_checkpoints(checkpoint_folder(job));
    return !complete.empty() && complete.front() > step;
  };
  workers.assign(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  workers.wait_until(0, [&](const WorkerReport&) { return has_checkpoint_after(0); });
  exchange(saved, file);
  workers.wait_until(0, [&](const WorkerReport& report) { return !report.message.empty(); });
  const WorkerReport report = workers.last(0);
  EXPECT_THAT(report.message, HasSubstr(saved.string()));
  wait_for_step(workers, 0, report.step + 5);
  exchange(saved, file);
  workers.wait_until(0,
                     [&](const WorkerReport& now) { return now.message.empty() && has_checkpoint_after(report.step); });
  EXPECT_EQ(workers.last(0).phase, WorkerPhase::kTraining);
  workers.lose(0);
}

// One of the files of worker 1 is a pipe that nobody reads yet, and that cannot be flushed.
TEST(Worker, ACheckpointThatTakesLongDelaysOthersAndOneThatFailsDoesNot) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 2, .keep = 1};
  const auto pipe = step_folder(checkpoint_folder(job), 2) / "piece-003-01.bin.part";
  std::filesystem::create_directories(pipe.parent_path());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  WorkerThreads workers(2);
  workers.assign(generation(job, 1, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()));
  wait_for_step(workers, 0, 20);
  EXPECT_FALSE(std::filesystem::exists(step_folder(checkpoint_folder(job), 4)));
  std::ifstream(pipe, std::ios::binary).ignore(std::numeric_limits<std::streamsize>::max());
  workers.wait_until(0, [&](const WorkerReport&) { return newest_checkpoint(job) > 0; });
  EXPECT_GE(newest_checkpoint(job), 20);
  workers.assign(releasing_assignment(job, 2, workers));
}

TEST(Worker, AFolderThatCannotBeWrittenIsReportedLongBeforeTheFirstCheckpoint) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  job.checkpoint = {.path = (scratch.folder() / "file").string(), .every_steps = 1'000'000'000, .keep = 1};
  std::ofstream(job.checkpoint.path) << "no folder";
  WorkerThreads workers(1);
  workers.assign(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) {
    return report.phase == WorkerPhase::kTraining && report.message.find("trying to save") != std::string::npos;
  });
  EXPECT_THAT(workers.last(0).message, HasSubstr("check the volume at checkpoint.path"));
  job.checkpoint.path = (scratch.folder() / "folder").string();
  workers.assign(generation(job, 2, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.generation == 2 && report.message.empty(); });
  workers.assign(releasing_assignment(job, 3, workers));
}

// What a worker says when it is given this job.
WorkerReport refusal_of(const Assignment& job) {
  WorkerThreads workers(1);
  workers.assign(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.phase == WorkerPhase::kFailed; });
  return workers.last(0);
}

TEST(Worker, MissingDataIsNamedWithTheRemedy) {
  const Scratch scratch;
  const WorkerReport report = refusal_of(tiny_job(scratch.folder() / "nothing-*.txt"));
  EXPECT_THAT(report.message, HasSubstr((scratch.folder() / "nothing-*.txt").string()));
  EXPECT_THAT(report.message, HasSubstr("data.path"));
}

TEST(Worker, ATokenOutsideTheVocabularyFailsTheJobWithASentence) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.model.vocab_size = 100;  // 't' is 116
  EXPECT_THAT(refusal_of(job).message, HasSubstr("vocabulary of 100"));
}

TEST(Worker, ADivergedLossFailsTheJobNamingTheStep) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.optimizer.learning_rate = 1e30;
  EXPECT_THAT(refusal_of(job).message, HasSubstr("learningRate"));
}

TEST(Worker, UnsupportedAssignmentsAreRefused) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.sequence_length = 4000;
  EXPECT_THAT(refusal_of(job).message, HasSubstr("longer than the 34 positions"));
}

}  // namespace
}  // namespace sailor::trainer::testing
