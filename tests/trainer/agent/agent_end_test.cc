// How agents and their workers end: as processes, with the status and the last word that Kubernetes sees.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/trainer/support/agents.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Agents, WorkersDieWithTheirAgentEvenWhenFrozen) {
  AgentProcess agent(scratch_.folder(), {}, 2);
  agent.wait_until_ready();
  const std::vector<pid_t> workers = agent.workers();
  ASSERT_EQ(workers.size(), 2U);
  // Only once they have reported have they asked the kernel to die with the agent.
  ASSERT_EQ(agent.put(generation(job(100'000), 1, plan_of(job(1), {{0, 5, {4, 4}}}), {agent.address()})), 200);
  agent.wait_until([](const AgentReport& report) { return all_are(report, WorkerPhase::kTraining); });
  kill(workers[1], SIGSTOP);
  agent.signal(SIGKILL);
  EXPECT_EQ(agent.wait_for_exit(), -SIGKILL);
  for (const pid_t worker : workers) {
    const auto is_alive = [=] {
      std::ifstream stat("/proc/" + std::to_string(worker) + "/stat");
      std::string text;
      std::getline(stat, text);
      return !text.empty() && text.find(") Z") == std::string::npos;  // a zombie waits for init only
    };
    for (int look = 0; look < 1000 && is_alive(); ++look) usleep(10'000);
    EXPECT_FALSE(is_alive()) << "worker " << worker;
  }
}

TEST_F(Agents, AWorkerThatIsKilledEndsItsPodWithASentence) {
  start(1);
  assign(job(100'000), 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 1);
  kill(agents_[0]->workers().front(), SIGKILL);
  EXPECT_EQ(agents_[0]->wait_for_exit(), 1);
  EXPECT_THAT(agents_[0]->termination_report(), HasSubstr("was killed by signal 9"));
}

TEST_F(Agents, DataThatIsShortenedWhileItIsReadIsNamedAsTheCause) {
  start(1);
  assign(job(100'000), 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 1);
  for (const auto& entry : std::filesystem::directory_iterator(scratch_.folder())) {
    if (entry.path().extension() == ".txt") std::filesystem::resize_file(entry.path(), 0);
  }
  EXPECT_EQ(agents_[0]->wait_for_exit(), 1);
  EXPECT_THAT(agents_[0]->termination_report(), HasSubstr("was killed by signal 7 (a file that it reads"));
}

TEST_F(Agents, ABrokenPipeEndsNeitherAgentNorWorker) {
  start(1);
  assign(job(100'000), 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 1);
  kill(agents_[0]->workers().front(), SIGPIPE);
  agents_[0]->signal(SIGPIPE);
  wait_for_step(0, 1, agents_[0]->report().progress->step + 2);
}

TEST_F(Agents, AnUnusableJobEndsThePodWithTheReasonInItsTerminationReport) {
  Assignment job = this->job(5);
  job.data.path = "/nonexistent/*.txt";
  start(1);
  assign(job, 1, {{0, 5, {8}}}, {0});
  EXPECT_EQ(agents_[0]->wait_for_exit(), 1);
  EXPECT_THAT(agents_[0]->termination_report(), HasSubstr("/nonexistent/*.txt: no file matches"));
}

// The program of this test is built for CPUs.
TEST_F(Agents, AWorkerWithoutItsPlannedGpuEndsThePodWithASentenceBeforeAnyAssignment) {
  AgentProcess agent(scratch_.folder(), {"--device", "gpu"});
  EXPECT_EQ(agent.wait_for_exit(), 1);
  EXPECT_THAT(agent.termination_report(), HasSubstr("GPU 0 of this pod cannot be used"));
}

TEST_F(Agents, AnIdleAgentThatIsToldToStopEndsAtOnce) {
  start(1);
  agents_[0]->signal(SIGTERM);
  EXPECT_EQ(agents_[0]->wait_for_exit(), 0);
}

TEST_F(Agents, AnAgentThatIsToldToStopContinuesUntilItIsReleased) {
  const Assignment job = this->job(80);
  start(2);
  assign(job, 1, {{0, 5, {4, 4}}}, {0, 1});
  wait_for_step(0, 1, 2);
  agents_[1]->signal(SIGTERM);
  const AgentReport report = agents_[1]->wait_until([](const AgentReport& seen) { return seen.is_terminating; });
  EXPECT_TRUE(all_are(report, WorkerPhase::kTraining));
  assign(job, 2, {{0, 5, {8}}}, {0, 1});
  EXPECT_EQ(agents_[1]->wait_for_exit(), 0);
  EXPECT_EQ(last_progress(0).steps_lost, 0);
}

}  // namespace
}  // namespace sailor::trainer::testing
