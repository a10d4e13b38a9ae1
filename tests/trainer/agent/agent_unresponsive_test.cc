// Pods and workers that stop answering, because kill -STOP froze them. The test plays the operator.
#include <algorithm>
#include <chrono>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/exit_status.h"
#include "tests/trainer/support/agents.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::HasSubstr;

// Freezes the whole pod, as a node that hangs does. The agent comes first, because it would end unresponsive workers.
class Frozen {
 public:
  explicit Frozen(const AgentProcess& agent) : agent_(agent), workers_(agent.workers()) {
    agent_.signal(SIGSTOP);
    for (const pid_t worker : workers_) kill(worker, SIGSTOP);
  }
  void thaw() const {
    for (const pid_t worker : workers_) kill(worker, SIGCONT);
    agent_.signal(SIGCONT);
  }

 private:
  const AgentProcess& agent_;
  std::vector<pid_t> workers_;
};

class UnresponsivePods : public Agents {
 protected:
  // Each takes 16 s and more where two pods share the first stage.
  Assignment job_of_long_steps() {
    Assignment job = this->job(10);
    job.training.global_batch_size = 4 * kMicrobatches;  // two sequences in each, two replicas
    return job;
  }
  void wait_for_generation(std::size_t agent, std::int64_t number) {
    agents_[agent]->wait_until([=](const AgentReport& report) { return report.workers.front().generation == number; });
  }
  static constexpr int kMicrobatches = 8'000;  // of a replica
};

// Whether they compute or wait for the frozen one, the others neither end the step first nor wait until its messages
// are overdue, which is a minute and more in a job's first step. The goal is ten seconds, which a busy machine may
// miss.
TEST_F(UnresponsivePods, AFrozenPodIsNoticedAndANewGenerationObeyedInTheMiddleOfALongStep) {
  const Assignment job = job_of_long_steps();
  start(3);
  assign(job, 1, {{0, 3, {kMicrobatches, kMicrobatches}}, {3, 5, {2 * kMicrobatches}}}, {0, 1, 2});
  for (const std::size_t agent : {0, 1, 2}) wait_for_phase(agent, WorkerPhase::kTraining);
  const auto began = std::chrono::steady_clock::now();
  const Frozen frozen(*agents_[1]);
  for (const std::size_t agent : {0, 2}) wait_until_missed(agent, 1);
  const auto noticed = std::chrono::steady_clock::now();
  assign(job, 2, {{0, 3, {2 * kMicrobatches}}, {3, 5, {2 * kMicrobatches}}}, {0, 2});
  for (const std::size_t agent : {0, 2}) wait_for_generation(agent, 2);
  const auto obeyed = std::chrono::steady_clock::now();
  EXPECT_LT(obeyed - began, std::chrono::seconds(60));
  RecordProperty("noticed_ms", std::to_string((noticed - began) / std::chrono::milliseconds(1)));
  RecordProperty("obeyed_ms", std::to_string((obeyed - noticed) / std::chrono::milliseconds(1)));
}

TEST_F(UnresponsivePods, AFrozenAgentWhoseWorkersTrainEndsNothing) {
  Assignment job = this->job(100'000);
  job.training.global_batch_size = 4;  // short steps: the reports of hundreds of them fill a worker's pipe to its agent
  start(2);
  assign(job, 1, {{0, 5, {1, 1}}}, {0, 1});
  wait_for_step(0, 1, 2);
  agents_[1]->signal(SIGSTOP);  // the agent alone, which may only lack processor time
  wait_until_missed(0, 1);
  wait_for_step(0, 1, agents_[0]->report().progress->step + 600);
  agents_[1]->signal(SIGCONT);
  agents_[0]->wait_until([](const AgentReport& report) { return report.unresponsive_peers.empty(); });
  wait_for_step(0, 1, agents_[0]->report().progress->step + 20);
}

TEST_F(UnresponsivePods, AFrozenWorkerIsEndedByItsAgent) {
  const Assignment job = this->job(60);
  start(2);
  assign(job, 1, {{0, 5, {4, 4}}}, {0, 1});
  wait_for_step(0, 1, 2);
  kill(agents_[1]->workers().front(), SIGSTOP);
  EXPECT_EQ(agents_[1]->wait_for_exit(), kExitWorkerUnresponsive);
  EXPECT_THAT(agents_[1]->termination_report(), HasSubstr("did not answer and was killed"));
  wait_for_phase(0, WorkerPhase::kBroken);
  assign(job, 2, {{0, 5, {8}}}, {0});
  EXPECT_EQ(last_progress(0).step, 60);
}

TEST_F(UnresponsivePods, AThawedPodObeysANewGenerationAgain) {
  const Assignment job = this->job(100'000);
  start(2);
  assign(job, 1, {{0, 5, {4, 4}}}, {0, 1});
  wait_for_step(0, 1, 2);
  const Frozen frozen(*agents_[1]);
  wait_until_missed(0, 1);
  assign(job, 2, {{0, 5, {8}}}, {0});
  wait_for_step(0, 2, 5);
  frozen.thaw();
  wait_for_phase(1, WorkerPhase::kBroken);  // alone it trains no step
  assign(job, 3, {{0, 5, {4, 4}}}, {0, 1});
  const JobProgress progress = wait_for_step(0, 3, 6);
  EXPECT_EQ(progress.steps_lost, 0);
}

}  // namespace
}  // namespace sailor::trainer::testing
