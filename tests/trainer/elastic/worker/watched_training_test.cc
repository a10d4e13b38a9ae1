// What watches over a training: evaluation, numbers that are none, first weights and checkpoints that do not fit.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"
#include "trainer/checkpoint/folders.h"
#include "trainer/weights/import_export.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 1e-5;  // relative, FP32
constexpr double kTinyRate = 1e-30;  // with which nothing is learned: the weights stay what they are

// Sixteen windows of 24 tokens and the last target: each step sees all of them.
std::string one_batch(const Scratch& scratch) {
  const auto file = scratch.folder() / "one-batch";
  std::ofstream stream(file);
  for (int i = 0; i < 16 * 24 + 1; ++i) stream.put(static_cast<char>('a' + i * i % 23));
  return file.string();
}

// All have taken the assignment. A worker that has not when the others join would wait for another one.
void run_to_the_end(WorkerThreads& workers, int count, const Assignment& assignment) {
  workers.assign(assignment);
  for (int worker = 0; worker < count; ++worker) {
    workers.wait_until(worker, [](const WorkerReport& report) { return report.generation == 1; });
  }
  workers.join();
}

// Of the worker of rank 0, at the end.
JobProgress progress_of(const Assignment& job, const Plan& plan) {
  int count = 0;
  for (const Stage& stage : plan.stages) count += static_cast<int>(stage.replicas.size());
  WorkerThreads workers(count);
  run_to_the_end(workers, count, generation(job, 1, plan, workers.agents()));
  EXPECT_EQ(workers.last(0).phase, WorkerPhase::kFinished) << workers.last(0).message;
  return workers.progress();
}

Assignment evaluated_job(const Scratch& scratch) {
  Assignment job = tiny_job(one_batch(scratch));
  job.training.steps = 2;
  job.training.optimizer.learning_rate = kTinyRate;
  job.training.optimizer.weight_decay = 0;
  job.training.evaluation = EvaluationSpec{.every_steps = 2, .batches = 1};
  job.data.validation = ValidationSpec{.path = job.data.path, .fraction = {}};
  return job;
}

TEST(Evaluation, DoesNotCountAsTimeOfAStep) {
  const Scratch scratch;
  Assignment job = evaluated_job(scratch);
  job.training.steps = 6;
  job.training.evaluation = EvaluationSpec{.every_steps = 1, .batches = 40};  // each takes longer than ten steps
  const auto began = std::chrono::steady_clock::now();
  const JobProgress progress = progress_of(job, plan_of(job, {{0, 5, {8}}}));
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
  EXPECT_LT(progress.step_seconds * 6, all.count() / 4);
}

TEST(Evaluation, OfTheTrainingDataGivesTheTrainingLoss) {
  const Scratch scratch;
  const Assignment job = evaluated_job(scratch);
  const JobProgress progress = progress_of(job, plan_of(job, {{0, 5, {8}}}));
  ASSERT_TRUE(progress.validation_loss.has_value());
  EXPECT_NEAR(*progress.validation_loss, progress.loss, kTolerance * progress.loss);
}

TEST(Evaluation, IsTheSameOnEveryPlan) {
  const Scratch scratch;
  Assignment job = evaluated_job(scratch);
  job.data = {.format = DataFormat::kBytes, .path = scratch.text().string(), .validation = ValidationSpec{"", 0.1}};
  job.training.evaluation->batches = 3;
  const double alone = progress_of(job, plan_of(job, {{0, 5, {8}}})).validation_loss.value();
  const double spread = progress_of(job, plan_of(job, {{0, 2, {5, 3}}, {2, 5, {4, 4}}})).validation_loss.value();
  EXPECT_NEAR(spread, alone, kTolerance * alone);
}

TEST(Evaluation, OnlyHappensIfTheJobAsksForIt) {
  const Scratch scratch;
  Assignment job = evaluated_job(scratch);
  job.training.evaluation.reset();
  EXPECT_FALSE(progress_of(job, plan_of(job, {{0, 5, {8}}})).validation_loss.has_value());
}

Assignment diverging_job(const Scratch& scratch) {
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 5;
  job.training.optimizer.learning_rate = 1e30;
  return job;
}

TEST(NonFinite, StopsTheJobNamingStepAndWorker) {
  const Scratch scratch;
  const Assignment job = diverging_job(scratch);
  WorkerThreads workers(2);
  run_to_the_end(workers, 2, generation(job, 1, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()));
  for (int worker : {0, 1}) {
    EXPECT_EQ(workers.last(worker).phase, WorkerPhase::kFailed);
    EXPECT_THAT(workers.last(worker).message, HasSubstr("step 2: the loss is nan"));
    EXPECT_THAT(workers.last(worker).message, HasSubstr("on worker 1 (GPU 0 of "));
    EXPECT_THAT(workers.last(worker).message, HasSubstr("stage 1"));
  }
}

TEST(NonFinite, MessageAdvisesAnotherJobBecauseTheFieldsOfThisOneCannotChange) {
  const Scratch scratch;
  Assignment job = diverging_job(scratch);
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 1, .keep = 1};
  WorkerThreads workers(1);
  run_to_the_end(workers, 1, generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  EXPECT_THAT(workers.last(0).message, HasSubstr("create another job"));
  EXPECT_THAT(workers.last(0).message, HasSubstr("with checkpoint.resumeFrom"));
}

TEST(NonFinite, StepsAreSkippedIfTheJobAsksForIt) {
  const Scratch scratch;
  Assignment job = diverging_job(scratch);
  job.training.on_non_finite = OnNonFinite::kSkip;
  const JobProgress progress = progress_of(job, plan_of(job, {{0, 2, {8}}, {2, 5, {4, 4}}}));
  EXPECT_EQ(progress.step, 5);
  EXPECT_EQ(progress.steps_skipped, 4);  // the first was applied, and spoiled the weights
  EXPECT_EQ(progress.loss, progress.first_loss);
}

TEST(InitialWeights, BeginWhereTheExportedCheckpointEnded) {
  const Scratch scratch;
  Assignment job = tiny_job(one_batch(scratch));
  job.training.steps = 6;
  job.training.evaluation = EvaluationSpec{.every_steps = 6, .batches = 1};
  job.data.validation = ValidationSpec{.path = job.data.path, .fraction = {}};
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 6, .keep = 1};
  const double trained = progress_of(job, plan_of(job, {{0, 3, {8}}, {3, 5, {4, 4}}})).validation_loss.value();
  const auto model = scratch.folder() / "model";
  ASSERT_EQ(export_model({.checkpoints = checkpoint_folder(job), .step = {}, .into = model}).value(), 6);

  Assignment next = evaluated_job(scratch);
  next.training.initial_weights = model.string();
  const double begun = progress_of(next, plan_of(next, {{0, 2, {4, 4}}, {2, 5, {8}}})).first_loss;
  EXPECT_NEAR(begun, trained, kTolerance * trained);
}

std::string refusal_of(const Assignment& job) {
  WorkerThreads workers(1);
  workers.assign(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.phase == WorkerPhase::kFailed; });
  return workers.last(0).message;
}

TEST(InitialWeights, ThatAreMissingAreNamed) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.initial_weights = (scratch.folder() / "nothing").string();
  EXPECT_THAT(refusal_of(job), HasSubstr("nothing: it is neither a safetensors file nor a folder that contains one"));
}

TEST(Checkpoint, OfAnotherModelIsRefusedInsteadOfStartingFromTheBeginning) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 1;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 1, .keep = 1};
  (void)progress_of(job, plan_of(job, {{0, 5, {8}}}));
  job.model.ffn_size *= 2;
  job.model.name = "wider";
  job.training.steps = 2;
  EXPECT_THAT(refusal_of(job), HasSubstr("is of another model: its ffnSize is 64, but this job's is 128; give the job "
                                         "the model of the checkpoint"));
}

}  // namespace
}  // namespace sailor::trainer::testing
