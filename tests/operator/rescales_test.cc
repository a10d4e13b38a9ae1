// What status.rescales and status.progress say of a change and the steps that it has cost.
#include <gtest/gtest.h>

#include "operator/reconcile/decide/progress_status.h"
#include "operator/reconcile/decide/rescale_history.h"

namespace sailor {
namespace {

using kube::Json;

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
}  // namespace sailor
