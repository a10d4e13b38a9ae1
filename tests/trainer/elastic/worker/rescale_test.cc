// Jobs that change from any shape of plan to any other while they train: real workers over real Gloo, a thread each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"
#include "trainer/checkpoint/folders.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::ElementsAre;

constexpr double kTolerance = 1e-5;  // relative, FP32

Plan sharded(Plan plan) {
  plan.sharded_optimizer = true;
  return plan;
}

constexpr int kSteps = 4;  // of a generation

Assignment endless_job(const Scratch& scratch) {
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  return job;
}

// Generation after generation of one job, a few steps of each.
class Changes {
 public:
  Changes(Assignment job, WorkerThreads& workers) : job_(std::move(job)), workers_(workers) {}

  void to(const Plan& plan) { workers_.train(next(plan), kSteps); }

  // The last change, after which all workers end.
  void to_the_last(const Plan& plan) {
    to(plan);
    workers_.lose_all();
  }

  // Without the worker that the last of the agents is.
  void lose_the_last_worker() {
    agents_.pop_back();
    workers_.lose(static_cast<int>(agents_.size()));
  }

 private:
  Assignment next(const Plan& plan) { return generation(job_, ++generation_, plan, agents_); }

  Assignment job_;
  WorkerThreads& workers_;
  std::vector<AgentAddress> agents_ = workers_.agents();
  std::int64_t generation_ = 0;
};

TEST(Rescale, BetweenTensorParallelSizesShardingAndPipelinesAndAfterALossLearnsTheSame) {
  const Scratch scratch;
  const Assignment job = endless_job(scratch);

  WorkerThreads workers(5);
  Changes change(job, workers);
  change.to(plan_of(job, {{0, 5, {8}}}));
  change.to(plan_of(job, {{0, 5, {8}, {2}}}));
  change.to(plan_of(job, {{0, 5, {5, 3}, {2, 1}}}));
  change.to(sharded(plan_of(job, {{0, 5, {4, 4}, {3, 2}}})));
  change.to(plan_of(job, {{0, 2, {8}, {2}}, {2, 5, {2, 6}, {2, 1}}}));
  change.lose_the_last_worker();  // whose stage another replica holds too
  EXPECT_EQ(workers.progress().steps_lost, 0);
  change.to_the_last(plan_of(job, {{0, 3, {8}, {2}}, {3, 5, {8}, {2}}}));

  expect_undisturbed(job, workers.losses(), kTolerance, 1);
  EXPECT_EQ(workers.progress().source, StateSource::kMemory);
  EXPECT_LE(workers.progress().steps_lost, 1);
}

// A step may take a minute: the change must not wait for another one.
TEST(Rescale, HappensAfterTheStepInWhichTheNextGenerationWasPrepared) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  job.training.global_batch_size = 2'000;  // a step takes seconds, and a preparation much less
  WorkerThreads workers(1);
  workers.assign(generation(job, 1, plan_of(job, {{0, 5, {2'000}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.phase == WorkerPhase::kTraining; });
  workers.assign(generation(job, 2, plan_of(job, {{0, 5, {2'000}}}), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.generation == 2 && report.step > 1; });
  EXPECT_EQ(workers.progress().resumed_step, 1);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  workers.lose(0);
}

TEST(Rescale, OfAJobWithSequenceParallelismLearnsTheSame) {
  const Scratch scratch;
  Assignment job = endless_job(scratch);
  job.training.sequence_parallelism = SequenceParallelism::kAlways;

  WorkerThreads workers(4);
  Changes change(job, workers);
  change.to(plan_of(job, {{0, 5, {8}, {2}}}));
  change.to(plan_of(job, {{0, 5, {5, 3}, {2, 1}}}));
  change.to(sharded(plan_of(job, {{0, 3, {8}, {2}}, {3, 5, {8}, {2}}})));
  Plan plain = plan_of(job, {{0, 5, {8}, {4}}});
  plain.sequence_parallelism = false;  // the job's wish has changed
  change.to(plain);
  change.to_the_last(plan_of(job, {{0, 3, {8}}, {3, 5, {5, 3}, {2, 1}}}));
  EXPECT_EQ(workers.progress().source, StateSource::kMemory);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  expect_undisturbed(job, workers.losses(), kTolerance);
}

TEST(Rescale, OfABf16JobMovesItsFp32Masters) {
  const Scratch scratch;
  const Assignment fp32 = endless_job(scratch);
  Assignment job = fp32;
  job.training.precision = Precision::kBf16;

  WorkerThreads workers(2);
  Changes change(job, workers);
  change.to(plan_of(job, {{0, 5, {8}}}));
  change.to(plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}));
  change.to_the_last(plan_of(job, {{0, 4, {8}}, {4, 5, {8}}}));
  expect_undisturbed(job, workers.losses(), kTolerance);  // the same sums in the same order, on whichever worker
  expect_undisturbed(fp32, workers.losses(), 0.02);
}

TEST(Rescale, OfABf16JobToOtherTensorParallelSizesStaysNearIt) {
  const Scratch scratch;
  const Assignment fp32 = endless_job(scratch);
  Assignment job = fp32;
  job.training.precision = Precision::kBf16;
  WorkerThreads workers(3);
  Changes change(job, workers);
  change.to(plan_of(job, {{0, 5, {8}, {2}}}));
  change.to(sharded(plan_of(job, {{0, 5, {5, 3}, {2, 1}}})));
  change.to_the_last(plan_of(job, {{0, 2, {8}, {2}}, {2, 5, {8}}}));
  expect_undisturbed(fp32, workers.losses(), 0.02);
}

TEST(Rescale, AShardThatOnlyALostWorkerHadComesFromTheCheckpoint) {
  const Scratch scratch;
  const Assignment plain = endless_job(scratch);
  Assignment job = plain;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 1000, .keep = 2};

  WorkerThreads workers(3);
  Changes change(job, workers);
  change.to(sharded(plan_of(job, {{0, 5, {4, 4}, {1, 2}}})));
  change.lose_the_last_worker();
  change.to_the_last(plan_of(job, {{0, 5, {4, 4}}}));
  EXPECT_EQ(workers.progress().source, StateSource::kStart);  // there is no checkpoint yet
  EXPECT_GE(workers.progress().steps_lost, kSteps);
  expect_undisturbed(plain, workers.losses(), kTolerance);
}

void expect_went_on_from_a_copy(const WorkerThreads& workers) {
  EXPECT_EQ(workers.progress().source, StateSource::kPeerReplica);
  EXPECT_LE(workers.progress().steps_lost, 1);
}

TEST(Rescale, ALostStageOfOneReplicaResumesFromItsPeerReplica) {
  const Scratch scratch;
  const Assignment plain = endless_job(scratch);
  Assignment job = plain;
  job.plan.peer_replicas = true;  // and no checkpoints

  WorkerThreads workers(3);
  Changes change(job, workers);
  change.to(plan_of(job, {{0, 2, {8}}, {2, 3, {8}}, {3, 5, {8}}}));
  change.lose_the_last_worker();
  change.to(plan_of(job, {{0, 3, {8}}, {3, 5, {8}}}));
  expect_went_on_from_a_copy(workers);
  change.lose_the_last_worker();  // the peer replicas have been updated since
  change.to_the_last(plan_of(job, {{0, 5, {8}}}));
  expect_went_on_from_a_copy(workers);
  expect_undisturbed(plain, workers.losses(), kTolerance, 2);
}

TEST(Rescale, ALostShardOfTheOptimizerResumesFromItsPeerReplica) {
  const Scratch scratch;
  const Assignment plain = endless_job(scratch);
  Assignment job = plain;
  job.plan.peer_replicas = true;

  WorkerThreads workers(4);
  Changes change(job, workers);
  change.to(sharded(plan_of(job, {{0, 5, {3, 3, 2}, {1, 2, 1}}})));
  change.lose_the_last_worker();
  change.to_the_last(sharded(plan_of(job, {{0, 5, {4, 4}, {2, 1}}})));
  expect_went_on_from_a_copy(workers);
  expect_undisturbed(plain, workers.losses(), kTolerance, 1);
}

TEST(Rescale, PeerReplicasRollForwardAStepThatTheLostWorkerHadComputed) {
  const Scratch scratch;
  const Assignment plain = endless_job(scratch);
  Assignment job = plain;
  job.plan.peer_replicas = true;

  WorkerThreads workers(4);
  Assignment leased = generation(job, 1, sharded(plan_of(job, {{0, 5, {3, 3, 2}, {1, 2, 1}}})), workers.agents());
  leased.lease_seconds = 3600;
  for (int worker = 0; worker < 4; ++worker) {
    workers.lease(worker, granted(1, BootClock::now(), std::chrono::seconds(leased.lease_seconds)));
  }
  workers.train(leased, 4);
  workers.lease(3, granted(1, BootClock::now(), std::chrono::seconds(0)));
  workers.resume();
  workers.wait_until(3, [](const WorkerReport& report) { return !report.message.empty(); });  // it waits with its vote
  workers.lose(3);
  std::vector<AgentAddress> survivors = workers.agents();
  survivors.pop_back();
  workers.train(generation(job, 2, sharded(plan_of(job, {{0, 5, {4, 4}, {2, 1}}})), survivors), kSteps);
  workers.lose_all();
  EXPECT_EQ(workers.progress().source, StateSource::kPeerReplica);
  EXPECT_EQ(workers.progress().resumed_step, 5);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  expect_undisturbed(plain, workers.losses(), kTolerance, 1);
}

TEST(Rescale, AJobWithPeerReplicasIsSavedCompletelyWhenItReleasesItsGpus) {
  const Scratch scratch;
  const Assignment plain = endless_job(scratch);
  Assignment job = plain;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 1000, .keep = 2};
  job.plan.peer_replicas = true;

  WorkerThreads workers(3);
  workers.train(generation(job, 1, sharded(plan_of(job, {{0, 5, {3, 3, 2}}})), workers.agents()), kSteps);
  workers.assign(releasing_assignment(job, 2, workers));
  for (int worker = 0; worker < 3; ++worker) {
    workers.wait_until(worker, [](const WorkerReport& report) { return report.phase == WorkerPhase::kReleased; });
  }
  workers.train(generation(job, 3, plan_of(job, {{0, 2, {8}}, {2, 5, {8}}}), workers.agents()), kSteps);
  workers.lose_all();
  EXPECT_EQ(workers.progress().source, StateSource::kCheckpoint);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  expect_undisturbed(plain, workers.losses(), kTolerance);
}

// Some steps of one plan, then some of another one from the checkpoint that was written on release.
void expect_the_same_over_a_park(const Assignment& plain, const Scratch& scratch) {
  Assignment job = plain;
  job.checkpoint = {.path = (scratch.folder() / "saved").string(), .every_steps = 1000, .keep = 2};

  WorkerThreads workers(4);
  workers.train(generation(job, 1, sharded(plan_of(job, {{0, 2, {5, 3}, {2, 1}}, {2, 5, {8}}})), workers.agents()),
                kSteps);
  workers.assign(releasing_assignment(job, 2, workers));
  for (int worker = 0; worker < 4; ++worker) {
    workers.wait_until(worker, [](const WorkerReport& report) { return report.phase == WorkerPhase::kReleased; });
  }
  EXPECT_THAT(complete_checkpoints(checkpoint_folder(job)), ElementsAre(workers.losses().rbegin()->first));

  workers.train(generation(job, 3, plan_of(job, {{0, 5, {4, 4}, {3, 1}}}), workers.agents()), kSteps);
  workers.lose_all();
  EXPECT_EQ(workers.progress().source, StateSource::kCheckpoint);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  expect_undisturbed(plain, workers.losses(), kTolerance);
}

TEST(Rescale, AReleasedJobOfUnequalShardsResumesUnderAnotherPlan) {
  const Scratch scratch;
  expect_the_same_over_a_park(endless_job(scratch), scratch);
}

TEST(Rescale, AReleasedJobWithSequenceParallelismResumesUnderAnotherPlan) {
  const Scratch scratch;
  Assignment job = endless_job(scratch);
  job.training.sequence_parallelism = SequenceParallelism::kAlways;
  expect_the_same_over_a_park(job, scratch);
}

}  // namespace
}  // namespace sailor::trainer::testing
