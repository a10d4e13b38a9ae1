// Real agents and workers, as processes; the test plays the operator. Failures are real: kill -9, kill -STOP.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/trainer/support/agent_process.h"
#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/http.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kLossTolerance = 1e-4;

bool all_are(const AgentReport& report, WorkerPhase phase) {
  return std::ranges::all_of(report.workers, [=](const WorkerReport& worker) { return worker.phase == phase; });
}

class Agents : public ::testing::Test {
 protected:
  void start(int count, const std::vector<std::string>& more = {}, int gpus = 1) {
    for (int i = 0; i < count; ++i) agents_.push_back(std::make_unique<AgentProcess>(scratch_.folder(), more, gpus));
    for (const auto& agent : agents_) agent->wait_until_ready();
  }

  // Gives the generation to the agents of these numbers; ones that it does not need leave.
  void assign(const Assignment& job, std::int64_t number, const std::vector<StageShares>& shares,
              const std::vector<std::size_t>& to) {
    std::vector<AgentAddress> addresses;
    for (const std::size_t i : to) addresses.push_back(agents_[i]->address());
    const Assignment assignment = generation(job, number, plan_of(job, shares), addresses);
    for (const std::size_t i : to) ASSERT_EQ(agents_[i]->put(assignment), 200);
  }

  JobProgress wait_for_step(std::size_t agent, std::int64_t number, std::int64_t step) {
    return *agents_[agent]
                ->wait_until([=](const AgentReport& report) {
                  return report.progress && report.progress->generation == number && report.progress->step >= step;
                })
                .progress;
  }

  void wait_for_phase(std::size_t agent, WorkerPhase phase) {
    agents_[agent]->wait_until([=](const AgentReport& report) { return all_are(report, phase); });
  }

  JobProgress last_progress(std::size_t agent) {
    EXPECT_EQ(agents_[agent]->wait_for_exit(), 0) << agents_[agent]->log();
    const auto report = agent_report_from_json(nlohmann::json::parse(agents_[agent]->last_word(), nullptr, false));
    EXPECT_TRUE(report && report->progress) << agents_[agent]->last_word();
    return report && report->progress ? *report->progress : JobProgress{};
  }

  // The loss at the end when one worker runs the job undisturbed.
  double undisturbed_loss(const Assignment& job) {
    AgentProcess agent(scratch_.folder());
    agent.wait_until_ready();
    EXPECT_EQ(agent.put(generation(job, 1, plan_of(job, {{0, 5, {8}}}), {agent.address()})), 200);
    EXPECT_EQ(agent.wait_for_exit(), 0);
    return agent_report_from_json(nlohmann::json::parse(agent.last_word()))->progress->loss;
  }

  Assignment job(std::int64_t steps) {
    Assignment job = tiny_job(scratch_.text());
    job.training.steps = steps;
    job.training.optimizer.learning_rate = 3e-4;  // gentle: rounding must not grow over so many steps
    return job;
  }

  Scratch scratch_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
};

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

// A race of a millisecond: an agent that listened before it had workers lost one of twenty.
TEST_F(Agents, AnAssignmentThatComesAsSoonAsTheAgentListensReachesAllItsWorkers) {
  agents_.push_back(std::make_unique<AgentProcess>(scratch_.folder(), std::vector<std::string>{}, 2));
  const AgentProcess& agent = *agents_.front();
  const Assignment job = this->job(100'000);
  const Assignment first = generation(job, 1, plan_of(job, {{0, 5, {4, 4}}}), {agent.address()});
  int status = 0;
  while (status == 0) status = agent.put(first);  // nobody listens yet
  EXPECT_EQ(status, 200);
  wait_for_step(0, 1, 1);
}

TEST_F(Agents, AStageOfOneReplicaThatIsKilledGoesOnFromItsCopyWithoutACheckpoint) {
  Assignment job = this->job(60);
  job.redundancy = Redundancy::kPeer;
  start(2);
  assign(job, 1, {{0, 3, {8}}, {3, 5, {8}}}, {0, 1});
  wait_for_step(0, 1, 3);
  agents_[1]->signal(SIGKILL);
  wait_for_phase(0, WorkerPhase::kBroken);
  assign(job, 2, {{0, 5, {8}}}, {0});
  const JobProgress progress = last_progress(0);
  EXPECT_EQ(progress.source, StateSource::kCopy);
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

TEST_F(Agents, AFrozenWorkerCountsAsLostAndObeysAgainLater) {
  const Assignment job = this->job(100'000);
  start(2, {"--peer-timeout", "1"});
  assign(job, 1, {{0, 5, {4, 4}}}, {0, 1});
  wait_for_step(0, 1, 2);
  const pid_t frozen = agents_[1]->workers().front();
  kill(frozen, SIGSTOP);
  wait_for_phase(0, WorkerPhase::kBroken);
  assign(job, 2, {{0, 5, {8}}}, {0});
  wait_for_step(0, 2, 5);
  kill(frozen, SIGCONT);
  wait_for_phase(1, WorkerPhase::kBroken);  // alone it trains no step
  assign(job, 3, {{0, 5, {4, 4}}}, {0, 1});
  const JobProgress progress = wait_for_step(0, 3, 6);
  EXPECT_EQ(progress.steps_lost, 0);
}

TEST_F(Agents, APlannedChangeWaitsForItsNewcomerWhileTheOthersTrain) {
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
}

TEST_F(Agents, APieceThatNobodyHoldsComesFromTheCheckpoint) {
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

TEST_F(Agents, OnlyANewerGenerationIsTaken) {
  const Assignment job = this->job(100'000);
  start(1);
  assign(job, 5, {{0, 5, {8}}}, {0});
  for (const std::int64_t number : {5, 4}) {
    EXPECT_EQ(agents_[0]->put(generation(job, number, plan_of(job, {{0, 5, {8}}}), {agents_[0]->address()})), 409);
  }
  EXPECT_EQ(agents_[0]->put(generation(job, 6, plan_of(job, {{0, 5, {8}}}), {agents_[0]->address()})), 200);
}

TEST_F(Agents, WhatIsNoCompleteAssignmentIsRefusedWithASentence) {
  start(1);
  const AgentAddress address = agents_[0]->address();
  const auto put = [&](const std::string& body) {
    return http("PUT", address.host, address.port, "/v1/assignment", body);
  };
  EXPECT_EQ(put("{nonsense").status, 400);
  EXPECT_EQ(put("[]").status, 400);
  Assignment assignment = generation(job(5), 1, plan_of(job(5), {{0, 5, {8}}}), {address});
  assignment.agents.front().name = "somebody-else";
  EXPECT_THAT(put(to_json(assignment).dump()).body.dump(), HasSubstr("names no agent pod-"));
  assignment.workers.clear();
  EXPECT_THAT(put(to_json(assignment).dump()).body.dump(), HasSubstr("roles have no worker"));
  EXPECT_EQ(http("GET", address.host, address.port, "/nothing").status, 404);
  EXPECT_EQ(http("GET", address.host, address.port, "/healthz").status, 200);
}

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
  EXPECT_THAT(agents_[0]->last_word(), HasSubstr("was killed by signal 9"));
}

TEST_F(Agents, ABrokenPipeEndsNeitherAgentNorWorker) {
  start(1);
  assign(job(100'000), 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 1);
  kill(agents_[0]->workers().front(), SIGPIPE);
  agents_[0]->signal(SIGPIPE);
  wait_for_step(0, 1, agents_[0]->report().progress->step + 2);
}

TEST_F(Agents, AnUnusableJobEndsThePodWithTheSentenceInItsLastWord) {
  Assignment job = this->job(5);
  job.data.path = "/nonexistent/*.txt";
  start(1);
  assign(job, 1, {{0, 5, {8}}}, {0});
  EXPECT_EQ(agents_[0]->wait_for_exit(), 1);
  EXPECT_THAT(agents_[0]->last_word(), HasSubstr("/nonexistent/*.txt: no file matches"));
}

TEST_F(Agents, AnIdleAgentThatIsToldToStopEndsAtOnce) {
  start(1);
  agents_[0]->signal(SIGTERM);
  EXPECT_EQ(agents_[0]->wait_for_exit(), 0);
}

TEST_F(Agents, AnAgentThatIsToldToStopGoesOnUntilItIsReleased) {
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

TEST_F(Agents, ALostPeerIsHintedToTheOperator) {
  Assignment job = this->job(100'000);
  const std::string host = own_address();
  const HttpListener operator_port(host, 8082);
  job.callback = "http://" + host + ":8082";
  start(2);
  assign(job, 1, {{0, 5, {4, 4}}}, {0, 1});
  wait_for_step(0, 1, 1);
  agents_[1]->signal(SIGKILL);
  const nlohmann::json hint = operator_port.receive();
  ASSERT_TRUE(hint.is_object()) << agents_[0]->log();
  EXPECT_EQ(hint.value("reason", ""), "PeerLost") << hint.dump() << "\n" << agents_[0]->log();
  EXPECT_EQ(hint.value("agent", ""), agents_[0]->address().name);
  EXPECT_EQ(hint.value("namespace", "") + "/" + hint.value("job", ""), "default/tiny");
}

TEST_F(Agents, HintsGoToTheOperatorThatSaidSoLast) {
  Assignment job = this->job(100'000);
  const std::string host = own_address();
  const HttpListener operator_port(host, 8082);
  const std::string callback = "http://" + host + ":8082";
  job.callback = "http://" + host + ":8081";  // of an operator that is gone
  start(1);
  assign(job, 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 1);
  const AgentAddress address = agents_[0]->address();
  const auto put = [&](const nlohmann::json& body) {
    return http("PUT", address.host, address.port, "/v1/callback", body.dump()).status;
  };
  EXPECT_EQ(put({{"url", callback}}), 400);
  EXPECT_EQ(put({{"callback", callback}}), 200);
  EXPECT_EQ(agents_[0]->report().callback, callback);
  kill(agents_[0]->workers().front(), SIGKILL);
  EXPECT_EQ(operator_port.receive().value("reason", ""), "WorkerFailed") << agents_[0]->log();
}

// A pod that holds a whole job alone and is cut off from the operator.
TEST_F(Agents, APodThatTrainsAloneStopsWhenItsLeaseLapsesAndGoesOnWhenItIsRenewed) {
  Assignment job = this->job(100'000);
  const std::string host = own_address();
  const HttpListener operator_port(host, 8082);
  job.callback = "http://" + host + ":8082";
  job.lease_seconds = 3;
  start(1);
  assign(job, 1, {{0, 5, {8}}}, {0});
  const nlohmann::json question = operator_port.receive();
  EXPECT_EQ(question.value("namespace", "") + "/" + question.value("job", ""), "default/tiny");
  EXPECT_EQ(question.value("generation", 0), 1);
  const auto answer_until_step = [&](std::int64_t step) {
    while (agents_[0]->report().workers.front().step < step) static_cast<void>(operator_port.receive());
  };
  answer_until_step(2);
  const auto has_stopped = [](const AgentReport& report) {
    return report.workers.front().message.starts_with("waits for the operator");
  };
  const std::int64_t step = agents_[0]->wait_until(has_stopped).workers.front().step;
  for (int look = 0; look < 20; ++look) EXPECT_EQ(agents_[0]->report().workers.front().step, step);
  answer_until_step(step + 2);
  job.lease_seconds = 0;
  agents_[0]->wait_until(has_stopped);
  assign(job, 2, {{0, 5, {8}}}, {0});
  EXPECT_EQ(wait_for_step(0, 2, step + 4).steps_lost, 0) << "what waits obeys at once, and rolls forward";
}

TEST_F(Agents, APortInUseIsNamed) {
  start(1);
  AgentProcess second(scratch_.folder(), {}, 1, agents_[0]->address().host);
  EXPECT_EQ(second.wait_for_exit(), 2);
  EXPECT_THAT(second.log(), HasSubstr(agents_[0]->address().host + ":7071"));
}

}  // namespace
}  // namespace sailor::trainer::testing
