// Changes of the spec of a job that runs: what reaches its workers, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SpecChange : public JobOnTwoNodes {
 protected:
  void SetUp() override { start(); }
  void change_training(const Json& changes) {
    world.change_job([&](Json& job) { job["spec"]["training"].update(changes); });
  }
};

TEST_F(SpecChange, OfStepsReachesTheWorkersWithoutNewPods) {
  const auto pods = world.pods();
  change_training({{"steps", 5000}});
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.sent.back().generation, 2);
  EXPECT_EQ(world.sent.back().training.steps, 5000);
  EXPECT_EQ(world.pods(), pods);
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "SpecChanged");
}

TEST_F(SpecChange, OfStepsReachesTheWorkersAlsoIfNoPlanFitsTheRest) {
  world.change_job([](Json& job) {
    job["spec"]["training"]["steps"] = 5000;
    job["spec"]["resources"]["minGpus"] = 100;
  });
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.sent.back().training.steps, 5000);
  EXPECT_THAT(world.condition("Planned"), HasSubstr("The job keeps its plan until there is one for its present spec."));
  const auto generation = world.generation();
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_EQ(world.generation(), generation) << "the workers are told once";
  world.change_job([](Json& job) { job["spec"]["resources"] = {{"maxGpus", 2}}; });
  world.settle();
  EXPECT_EQ(world.status()["plan"]["totalGpus"], 2);
}

// A restart would throw away all steps.
TEST(RestartWithoutCheckpoint, IsNotChosen) {
  World world;
  world.add_node("a", 2);
  world.add_job({{"elasticity", {{"mode", "Restart"}}}});
  world.settle();
  world.add_node("b", 2);
  world.change_job([](Json& job) { job["spec"]["resources"] = {{"minGpus", 2}}; });
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(SpecChange, OfEvaluationAndCheckpointsReachesTheWorkersOnce) {
  world.change_job([](Json& job) {
    job["spec"]["data"]["validation"] = {{"fraction", "0.1"}};
    job["spec"]["training"]["evaluation"] = {{"everySteps", 7}};
    job["spec"]["checkpoint"]["everySteps"] = 11;
  });
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.sent.back().training.evaluation->every_steps, 7);
  EXPECT_EQ(world.sent.back().checkpoint.every_steps, 11);
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

// The job starts again with its plan, which is still one for the older spec.
TEST_F(SpecChange, DuringAFailureIsFollowedAfterIt) {
  for (const std::string& pod : world.pods()) world.fail_pod(pod, "out of memory");
  world.change_job([](Json& job) { job["spec"]["resources"] = {{"maxGpus", 2}}; });
  world.reconcile();
  world.pass(std::chrono::minutes(1));
  world.settle();
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["plan"]["totalGpus"], 2);
}

TEST_F(SpecChange, ThatDoesNotConcernTheWorkersCausesNoGeneration) {
  world.change_job([](Json& job) { job["spec"]["maxRestarts"] = 3; });
  world.settle();
  EXPECT_EQ(world.generation(), 1);
}

TEST_F(SpecChange, IsTheReasonOfTheStateUntilTheJobTrainsAgain) {
  EXPECT_EQ(world.status()["reason"], "Training");
  world.agents_hang = true;
  change_training({{"steps", 5000}});
  world.settle();
  EXPECT_EQ(world.state() + " " + world.status()["reason"].get<std::string>(), "Rescaling SpecChanged");
  const auto step = world.status()["progress"]["step"].get<std::int64_t>();
  EXPECT_EQ(world.status()["progress"]["completion"], std::to_string(step) + "/5000");
}

TEST_F(SpecChange, OfStepsReachesAJobThatKeepsItsPlan) {
  world.change_job([](Json& job) { job["spec"]["elasticity"]["mode"] = "Off"; });
  world.settle();
  change_training({{"steps", 5000}});
  world.settle();
  EXPECT_EQ(world.sent.back().training.steps, 5000);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(SpecChange, BeforeThePodsAnswerNeedsNoOtherGeneration) {
  World here;
  here.stuck_nodes.insert("a");
  here.add_node("a", 2);
  here.add_job();
  here.settle();
  here.change_job([](Json& job) { job["spec"]["training"]["steps"] = 5000; });
  here.settle();
  here.stuck_nodes.clear();
  here.settle();
  EXPECT_EQ(here.generation(), 1);
  EXPECT_EQ(here.sent.back().training.steps, 5000);
}

// An agent that learns of its generation late must end after the same step as the others.
TEST_F(SpecChange, DoesNotChangeWhatAgentsOfTheSameGenerationAreSent) {
  World here;
  here.agents_hang = true;
  here.add_node("a", 2);
  here.add_node("b", 2);
  here.add_job();
  here.settle();
  ASSERT_EQ(here.sent.back().generation, 1);
  const std::int64_t steps = here.sent.back().training.steps;
  here.change_job([](Json& job) { job["spec"]["training"]["steps"] = 5000; });
  here.settle();
  for (const Assignment& assignment : here.sent)
    EXPECT_EQ(assignment.training.steps, assignment.generation == 1 ? steps : 5000);
  here.agents_hang = false;
  here.settle();
  EXPECT_EQ(here.state(), "Running") << here.status().dump(1);
  EXPECT_EQ(here.sent.back().training.steps, 5000);
}

TEST_F(SpecChange, ThatComesAfterTheLastStepIsSaidInTheEnd) {
  const auto steps = world.sent.back().training.steps;
  world.agents_hang = true;
  change_training({{"steps", steps + 100}});
  world.settle();
  world.finish_pods();
  world.settle();
  EXPECT_EQ(world.state(), "Complete");
  EXPECT_THAT(world.condition("Complete"), HasSubstr("checkpoint.resumeFrom"));
}

TEST_F(SpecChange, ReachesTheWorkersWhereverTheOperatorDies) {
  for (const bool after_commit : {false, true}) {
    for (int write = 0; write < 8; ++write) {
      World here;
      here.add_node("a", 2);
      here.add_node("b", 2);
      here.add_job();
      here.settle();
      here.change_job([](Json& job) { job["spec"]["training"]["steps"] = 5000; });
      here.settle_through_crash(write, after_commit);
      EXPECT_EQ(here.sent.back().training.steps, 5000) << write << after_commit;
      EXPECT_EQ(here.generation(), 2) << write << after_commit;
      EXPECT_THAT(here.nodes_in_use(), ElementsAre("a", "b"));
    }
  }
}

}  // namespace
}  // namespace sailor::testing
