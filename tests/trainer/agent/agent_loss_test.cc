// Changes of shape of real agents and workers, as processes; the test plays the operator. Losses are real: kill -9.
#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/agents.h"

namespace sailor::trainer::testing {
namespace {

TEST_F(Agents, AKilledPodCostsAtMostTheStepInFlight) {
  const Assignment job = this->job(60);
  start(3);
  assign(job, 1, {{0, 3, {8}}, {3, 5, {4, 4}}}, {0, 1, 2});
  wait_for_step(0, 1, 3);
  agents_[2]->signal(SIGKILL);
  wait_for_phase(0, WorkerPhase::kBroken);
  wait_for_phase(1, WorkerPhase::kBroken);
  const std::int64_t held = agents_[0]->report().workers.front().step;
  assign(job, 2, {{0, 3, {8}}, {3, 5, {8}}}, {0, 1});
  const JobProgress progress = last_progress(0);
  EXPECT_GE(progress.resumed_step, held);
  EXPECT_LE(progress.steps_lost, 1);
  EXPECT_EQ(progress.step, 60);
  EXPECT_NEAR(progress.loss, undisturbed_loss(job), progress.loss * kLossTolerance);
}

TEST_F(Agents, AStageOfOneReplicaThatIsKilledContinuesFromItsPeerReplicaWithoutACheckpoint) {
  Assignment job = this->job(60);
  job.plan.peer_replicas = true;
  start(2);
  assign(job, 1, {{0, 3, {8}}, {3, 5, {8}}}, {0, 1});
  wait_for_step(0, 1, 3);
  agents_[1]->signal(SIGKILL);
  wait_for_phase(0, WorkerPhase::kBroken);
  assign(job, 2, {{0, 5, {8}}}, {0});
  const JobProgress progress = last_progress(0);
  EXPECT_EQ(progress.source, StateSource::kPeerReplica);
  EXPECT_LE(progress.steps_lost, 1);
  EXPECT_EQ(progress.step, 60);
  EXPECT_NEAR(progress.loss, undisturbed_loss(job), progress.loss * kLossTolerance);
}

TEST_F(Agents, ATensorParallelReplicaThatIsLostCostsAtMostTheStepInFlight) {
  const Assignment job = this->job(40);
  start(2, {}, 2);
  assign(job, 1, {{0, 5, {5, 3}, {2, 2}}}, {0, 1});  // a pod's two workers split the layers
  wait_for_step(0, 1, 3);
  agents_[1]->signal(SIGKILL);
  wait_for_phase(0, WorkerPhase::kBroken);
  assign(job, 2, {{0, 2, {8}}, {2, 5, {8}}}, {0});
  const JobProgress progress = last_progress(0);
  EXPECT_EQ(progress.source, StateSource::kMemory);
  EXPECT_LE(progress.steps_lost, 1);
  EXPECT_NEAR(progress.loss, undisturbed_loss(job), progress.loss * kLossTolerance);
}

TEST_F(Agents, StateWithoutAHolderComesFromTheCheckpoint) {
  Assignment job = this->job(100);
  job.checkpoint = {.path = (scratch_.folder() / "saved").string(), .every_steps = 5, .keep = 2};
  start(2);
  assign(job, 1, {{0, 3, {8}}, {3, 5, {8}}}, {0, 1});
  agents_[0]->wait_until([](const AgentReport& report) {
    return report.progress && report.progress->last_checkpoint_step >= 5 && report.progress->step % 5 != 0;
  });
  agents_[1]->signal(SIGKILL);
  wait_for_phase(0, WorkerPhase::kBroken);
  assign(job, 2, {{0, 5, {8}}}, {0});
  const JobProgress progress = last_progress(0);
  EXPECT_EQ(progress.resumed_step % 5, 0);
  EXPECT_GE(progress.resumed_step, 5);
  EXPECT_GE(progress.steps_lost, 1);
  EXPECT_EQ(progress.last_checkpoint_step, 100);
  job.checkpoint = {};
  EXPECT_NEAR(progress.loss, undisturbed_loss(job), progress.loss * kLossTolerance);
}

TEST_F(Agents, APlannedChangeWaitsForItsJoiningPodWhileTheOthersTrain) {
  const Assignment job = this->job(100'000);
  start(2);
  assign(job, 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 2);
  const Assignment next =
      generation(job, 2, plan_of(job, {{0, 5, {4, 4}}}), {agents_[0]->address(), agents_[1]->address()});
  ASSERT_EQ(agents_[0]->put(next), 200);
  wait_for_step(0, 1, agents_[0]->report().progress->step + 5);
  ASSERT_EQ(agents_[1]->put(next), 200);
  const JobProgress progress = wait_for_step(0, 2, wait_for_step(0, 2, 1).resumed_step + 1);
  EXPECT_EQ(progress.steps_lost, 0);
  EXPECT_GT(progress.times.stopped_seconds, 0);
  EXPECT_GT(progress.streamed_bytes, 0);
  EXPECT_EQ(progress.moved_bytes, 0);
}

TEST_F(Agents, TheRendezvousHostMayLeaveInAPlannedChange) {
  const Assignment job = this->job(60);
  start(3);
  assign(job, 1, {{0, 3, {8}}, {3, 5, {8}}}, {0, 1});
  wait_for_step(0, 1, 3);
  assign(job, 2, {{0, 2, {8}}, {2, 5, {8}}}, {1, 2, 0});
  wait_for_phase(0, WorkerPhase::kReleased);
  agents_[0]->signal(SIGTERM);
  EXPECT_EQ(agents_[0]->wait_for_exit(), 0);
  const JobProgress progress = last_progress(1);
  EXPECT_EQ(progress.steps_lost, 0);
  EXPECT_NEAR(progress.loss, undisturbed_loss(job), progress.loss * kLossTolerance);
}

TEST_F(Agents, ANewerGenerationOvertakesOneThatNeverComesTogether) {
  const Assignment job = this->job(30);
  start(2);
  agents_[1]->signal(SIGSTOP);  // takes no assignment
  const Assignment hopeless =
      generation(job, 1, plan_of(job, {{0, 5, {4, 4}}}), {agents_[0]->address(), agents_[1]->address()});
  ASSERT_EQ(agents_[0]->put(hopeless), 200);
  wait_for_phase(0, WorkerPhase::kPreparing);
  assign(job, 2, {{0, 5, {8}}}, {0});
  EXPECT_EQ(last_progress(0).step, 30);
}

// What the agent wrote down of its store when it came to this generation.
long keys_left_at(const AgentProcess& agent, std::int64_t generation) {
  const std::string log = agent.log();
  const std::string line = fmt::format(R"(msg="older generations forgotten" generation={} keys_left=)", generation);
  const auto found = log.find(line);
  return found == std::string::npos ? -1 : std::stol(log.substr(found + line.size()));
}

TEST_F(Agents, TheStoreKeepsNoKeysOfGenerationsThatAreOver) {
  const Assignment job = this->job(1'000'000);
  start(2);
  const std::int64_t last = 12;
  for (std::int64_t number = 1; number <= last; ++number) {
    const bool is_even = number % 2 == 0;
    assign(job, number,
           is_even ? std::vector<StageShares>{{0, 5, {4, 4}}} : std::vector<StageShares>{{0, 2, {8}}, {2, 5, {8}}},
           {0, 1});
    wait_for_step(0, number, 1);
  }
  const auto is_written = [&](const AgentReport&) { return keys_left_at(*agents_[0], last) > 0; };
  agents_[0]->wait_until(is_written);
  EXPECT_GT(keys_left_at(*agents_[0], 2), 0);
  EXPECT_LE(keys_left_at(*agents_[0], last), keys_left_at(*agents_[0], 2));
}

}  // namespace
}  // namespace sailor::trainer::testing
