// What status.rescales and status.progress say of a change and the steps that it has cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/job_figures.h"
#include "operator/reconcile/decide/decide.h"
#include "operator/reconcile/decide/progress_status.h"
#include "operator/reconcile/decide/rescale_history.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using ::testing::SizeIs;

class StepsLost : public ::testing::Test {
 protected:
  StepsLost() {
    record.generation = 2;
    record.from_generation = 1;
    observation.job.status = job_status_from_json(
        {{"progress", {{"step", 35}, {"stepsLost", 3}}}, {"rescales", {{{"fromGeneration", 1}, {"toGeneration", 2}}}}});
  }

  // The operator receives this progress from rank 0 and writes its status.
  void hear(const JobProgress& progress) {
    observation.agents["uid"].report = AgentReport{.agent = "pod", .workers = {}, .progress = progress};
    write_status();
  }
  void write_status() {
    JobStatus next = observation.job.status;
    next.progress = progress_status(observation, record);
    next.rescales = rescales_status(observation, record);
    observation.job.status = next;
  }

  [[nodiscard]] Json of_change() const { return to_json(observation.job.status)["rescales"][0]; }
  [[nodiscard]] Json newest_change() const { return to_json(observation.job.status)["rescales"].back(); }
  [[nodiscard]] Json progress() const { return to_json(observation.job.status)["progress"]; }

  Observation observation;
  GenerationRecord record;
};

TEST_F(StepsLost, StatusKnowsThemIfNoWorkerIsLeftThatDoes) {
  hear({.generation = 2, .step = 20, .resumed_step = 20, .source = StateSource::kCheckpoint});
  EXPECT_EQ(progress()["step"], 35) << "the generation has not done a step yet";
  hear({.generation = 2, .step = 21, .resumed_step = 20, .source = StateSource::kCheckpoint});
  EXPECT_EQ(of_change()["stepsLost"], 15);
  EXPECT_EQ(progress()["stepsLost"], 18);
  EXPECT_EQ(progress()["step"], 21);
}

TEST_F(StepsLost, WorkersKnowThemIfTheStatusIsBehind) {
  hear({.generation = 2, .step = 41, .resumed_step = 40, .steps_lost = 1});
  EXPECT_EQ(of_change()["stepsLost"], 1);
  EXPECT_EQ(progress()["stepsLost"], 4);
}

TEST_F(StepsLost, AreCountedOnce) {
  hear({.generation = 2, .step = 21, .resumed_step = 20});
  hear({.generation = 2, .step = 25, .resumed_step = 20});
  EXPECT_EQ(of_change()["stepsLost"], 15);
  EXPECT_EQ(progress()["stepsLost"], 18);
  EXPECT_EQ(progress()["step"], 25);
}

TEST_F(StepsLost, AreNotCountedWhileTheOlderGenerationTrainsOn) {
  hear({.generation = 1, .step = 36, .resumed_step = 30});
  EXPECT_EQ(progress()["step"], 36);
  EXPECT_FALSE(of_change().contains("stepsLost"));
}

// Generation 2 has resumed from an older checkpoint and fails before its first step.
TEST_F(StepsLost, AreThoseOfAllChangesSinceTheLastStep) {
  hear({.generation = 2, .step = 20, .resumed_step = 20, .source = StateSource::kCheckpoint});
  record.generation = 3;
  record.from_generation = 2;
  write_status();
  write_status();  // generation 3 is in the history, and the workers have not started it yet
  EXPECT_EQ(progress()["step"], 35);
  hear({.generation = 3, .step = 21, .resumed_step = 20, .source = StateSource::kCheckpoint});
  EXPECT_EQ(newest_change()["stepsLost"], 15);
  EXPECT_EQ(progress()["stepsLost"], 18);
}

TEST_F(StepsLost, AreNotKnownOfAReleaseThatHasSavedNothing) {
  record.releases_gpus = true;
  write_status();
  ASSERT_TRUE(of_change().contains("seconds")) << of_change().dump();
  EXPECT_FALSE(of_change().contains("stepsLost"));
}

TEST_F(StepsLost, AreNotKnownOfAReleaseThatHasSavedAnOlderStep) {
  record.releases_gpus = true;
  hear({.generation = 2, .step = 30, .last_checkpoint_step = 30, .resumed_step = 30});
  EXPECT_FALSE(of_change().contains("stepsLost"));
  EXPECT_EQ(progress()["step"], 35) << "needed to count them when the job resumes";
  EXPECT_EQ(progress()["lastCheckpointStep"], 30);
}

TEST_F(StepsLost, AreNoneOfAReleaseThatHasSavedAll) {
  record.releases_gpus = true;
  hear({.generation = 2, .step = 37, .loss = 2.5, .tokens = 740, .last_checkpoint_step = 37, .resumed_step = 37});
  EXPECT_EQ(of_change()["stepsLost"], 0);
  EXPECT_EQ(progress()["step"], 37);
  EXPECT_EQ(progress()["loss"], "2.5000");
  EXPECT_EQ(progress()["tokens"], 740);
  EXPECT_EQ(progress()["lastCheckpointStep"], 37);
}

using MeasuredSpeed = StepsLost;

TEST_F(MeasuredSpeed, IsThatOfAJobThatTrains) {
  hear({.generation = 2, .step = 36, .tokens = 720, .tokens_per_second = 10, .resumed_step = 35});
  observation.job.status.conditions[ConditionType::kRunning].condition = yes(Reason::kTraining, "");
  EXPECT_EQ(measured_tokens_per_second(observation.job.status), 10);
  observation.job.status.conditions[ConditionType::kRunning].condition = no(Reason::kSuspended, "");
  EXPECT_FALSE(measured_tokens_per_second(observation.job.status));
  EXPECT_FALSE(time_left(observation.job.status));
}

using NewestCheckpoint = StepsLost;

TEST_F(NewestCheckpoint, IsKnownBeforeTheFirstStepOfAGenerationThatHasFoundIt) {
  hear({.generation = 2, .step = 20, .last_checkpoint_step = 20, .resumed_step = 20});
  EXPECT_EQ(progress()["lastCheckpointStep"], 20);
}

// The pods of a job that has failed at its deadline train until they are told to stop.
TEST_F(NewestCheckpoint, IsKnownIfTheWorkersOfAFailedJobHaveCompletedItWhileTheirPodsEnded) {
  observation.job.status.conditions[ConditionType::kFailed].condition = yes(Reason::kDeadlineExceeded, "");
  observation.pods.push_back({.name = "pod", .is_ours = true});
  observation.pods[0].termination_report =
      AgentReport{.agent = "pod",
                  .workers = {},
                  .progress = JobProgress{.generation = 1, .step = 41, .tokens = 820, .last_checkpoint_step = 40}};
  const auto status = decide(observation).status;
  ASSERT_TRUE(status);
  EXPECT_EQ(to_json(*status)["progress"]["lastCheckpointStep"], 40);
  EXPECT_EQ(to_json(*status)["progress"]["step"], 41);
  observation.job.status = *status;
  EXPECT_FALSE(decide(observation).status) << "nothing is new";
}

using Downtime = StepsLost;

TEST_F(Downtime, IsNotStatedIfNoWorkerIsLeftThatKnowsIt) {
  hear({.generation = 2, .step = 21, .resumed_step = 20, .source = StateSource::kCheckpoint});
  ASSERT_TRUE(of_change().contains("seconds"));
  EXPECT_FALSE(of_change().contains("stoppedSeconds"));
  hear({.generation = 1, .step = 36});
  EXPECT_EQ(progress()["step"], 21) << "a pod that was released before is no news";
}

using InterruptedChange = StepsLost;

TEST_F(InterruptedChange, IsNoLongerInProgressOnceALaterOneFollows) {
  hear({.generation = 2, .step = 20, .resumed_step = 20});
  record.generation = 3;
  record.from_generation = 2;
  write_status();
  EXPECT_EQ(of_change()["interrupted"], true);
  hear({.generation = 3, .step = 36, .resumed_step = 35, .times = {.stopped_seconds = 0.4}});
  EXPECT_EQ(of_change()["interrupted"], true);
  EXPECT_FALSE(of_change().contains("seconds"));
  EXPECT_FALSE(newest_change().contains("interrupted"));
  EXPECT_EQ(newest_change()["stoppedSeconds"], "0.400");
}

TEST_F(InterruptedChange, IsOneThatWasInProgressWhenItsJobEnded) {
  World world;
  world.add_node("a", 2);
  world.add_node("b", 1);
  world.add_job({{"activeDeadlineSeconds", 30}});
  world.settle();
  world.agents_hang = true;
  world.remove_node("b");
  world.break_peers();
  world.settle();
  ASSERT_THAT(world.status()["rescales"], SizeIs(1));
  world.pass(std::chrono::seconds(31));
  world.settle();
  EXPECT_EQ(world.state(), "Failed");
  EXPECT_EQ(world.status()["rescales"][0]["interrupted"], true) << world.status()["rescales"].dump(1);
}

class JobThatResumesFromAnother : public StepsLost {
 protected:
  JobThatResumesFromAnother() {
    observation.job.status = {};
    observation.job.spec->checkpoint.resume_from = ResumeFrom{.job = "another"};
    record.from_generation = 0;
    record.summary.traffic_cost_per_iteration = 0.5;
    write_status();
    observation.now += std::chrono::seconds(600);
  }
};

TEST_F(JobThatResumesFromAnother, CountsOnlyItsOwnSteps) {
  hear({.generation = 1, .step = 42, .tokens = 840, .step_seconds = 2, .resumed_step = 40});
  EXPECT_EQ(progress()["step"], 42);
  EXPECT_EQ(progress()["tokens"], 40);
  EXPECT_EQ(progress()["usefulSeconds"], "4.000");
  EXPECT_EQ(progress()["trafficDollars"], "1.000000");
}

TEST_F(JobThatResumesFromAnother, CountsThemAlsoAfterALaterChange) {
  hear({.generation = 1, .step = 40, .tokens = 800, .resumed_step = 40});
  EXPECT_EQ(progress()["tokens"], 0);
  hear({.generation = 2, .step = 52, .tokens = 1040, .resumed_step = 50});
  EXPECT_EQ(progress()["tokens"], 240);
}

TEST_F(JobThatResumesFromAnother, HasTheTimeLeftThatItsStepsNeed) {
  observation.job.spec->training.steps = 60;
  hear({.generation = 1, .step = 42, .tokens = 840, .tokens_per_second = 10, .resumed_step = 40});
  observation.job.status.conditions[ConditionType::kRunning].condition = yes(Reason::kTraining, "");
  const auto left = time_left(observation.job.status);
  ASSERT_TRUE(left);
  EXPECT_DOUBLE_EQ(left->value(), 18 * 20 / 10);
}

using ProgressOfAReleasedPod = StepsLost;

// When rank 0 moves to another pod, its old pod no longer reports the progress, and its new pod may not do so yet.
TEST_F(ProgressOfAReleasedPod, IsNotThatOfTheJobWhileRank0Moves) {
  const JobProgress of_generation_1{.generation = 1, .step = 3, .loss = 5.7};
  observation.agents["released"].report = AgentReport{.agent = "old", .workers = {}, .progress = of_generation_1};
  hear({.generation = 2, .step = 36, .loss = 0.5, .resumed_step = 35});
  record.generation = 3;
  record.from_generation = 2;
  observation.agents["uid"].report->progress.reset();
  write_status();
  EXPECT_EQ(progress()["step"], 36);
  EXPECT_EQ(progress()["loss"], "0.5000");
}

}  // namespace
}  // namespace sailor::testing
