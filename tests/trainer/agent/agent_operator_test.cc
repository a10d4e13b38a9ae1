// What an agent and the operator tell each other, over real HTTP; the test plays the operator.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <semaphore>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/protocol/claim.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/exit_status.h"
#include "core/protocol/lease.h"
#include "tests/trainer/support/agents.h"
#include "tests/trainer/support/http.h"
#include "trainer/checkpoint/folder_claims.h"
#include "trainer/checkpoint/folders.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

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

TEST_F(Agents, HintsGoToTheOperatorThatSentItsAddressLast) {
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

TEST_F(Agents, AnAgentThatIsToldToStopAsksUntilAnOperatorDismissesIt) {
  Assignment job = this->job(100'000);
  const std::string host = own_address();
  const HttpListener old_operator(host, 8082);
  const HttpListener new_operator(host, 8083);
  job.callback = "http://" + host + ":8082";
  start(1);
  assign(job, 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 1);
  agents_[0]->signal(SIGTERM);
  EXPECT_EQ(old_operator.receive().value("reason", ""), "Terminating");
  EXPECT_EQ(old_operator.receive(503).value("reason", ""), "Terminating");
  const AgentAddress address = agents_[0]->address();
  const nlohmann::json callback = {{"callback", "http://" + host + ":8083"}};
  ASSERT_EQ(http("PUT", address.host, address.port, "/v1/callback", callback.dump()).status, 200);
  EXPECT_EQ(new_operator.receive(410).value("reason", ""), "Terminating");
  EXPECT_EQ(agents_[0]->wait_for_exit(), 0);
  EXPECT_THAT(agents_[0]->log(), Not(HasSubstr("WorkerFailed"))) << "it has ended its worker itself";
}

TEST_F(Agents, AnAgentWhoseWorkerHasFailedAnswersUntilTheOperatorKnowsIt) {
  Assignment job = this->job(100'000);
  job.callback = "http://" + own_address() + ":8082";  // nobody listens there, so the hint is lost
  start(1, {}, 2);
  assign(job, 1, {{0, 5, {4, 4}}}, {0});
  wait_for_step(0, 1, 1);
  kill(agents_[0]->workers().front(), SIGKILL);
  const AgentReport last =
      agents_[0]->wait_until([](const AgentReport& report) { return report.exit_status.has_value(); });
  EXPECT_EQ(last.exit_status, kExitFailed);
  EXPECT_THAT(last.workers.front().message, HasSubstr("was killed by signal 9"));
  EXPECT_EQ(agents_[0]->wait_for_exit(), kExitFailed);
  EXPECT_THAT(agents_[0]->termination_report(), HasSubstr("was killed by signal 9"));
}

// The job with leases of 3 s, about which it asks an operator on this host.
Assignment leased(Assignment job, const std::string& host) {
  job.callback = "http://" + host + ":8082";
  job.lease_seconds = 3;
  return job;
}

// A pod that holds a whole job alone and is cut off from the operator.
TEST_F(Agents, APodThatTrainsAloneStopsWhenItsLeaseLapsesAndContinuesWhenItIsRenewed) {
  const std::string host = own_address();
  const HttpListener operator_port(host, 8082);
  Assignment job = leased(this->job(100'000), host);
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

// The operator is away: nobody listens at its address.
TEST_F(Agents, APodThatTrainsAloneContinuesWhileTheOperatorIsAway) {
  Assignment job = leased(this->job(100'000), own_address());
  job.checkpoint.path = (scratch_.folder() / "checkpoints").string();
  start(1);
  assign(job, 1, {{0, 5, {8}}}, {0});
  const auto two_leases_later = std::chrono::steady_clock::now() + std::chrono::seconds(2 * job.lease_seconds);
  const auto is_later = [&](const AgentReport&) { return std::chrono::steady_clock::now() > two_leases_later; };
  const std::int64_t step = agents_[0]->wait_until(is_later).workers.front().step;
  wait_for_step(0, 1, step + 2);
}

TEST_F(Agents, APodThatTrainsAloneStopsWhenItsClaimIsSuperseded) {
  Assignment job = leased(this->job(100'000), own_address());
  job.checkpoint.path = (scratch_.folder() / "checkpoints").string();
  start(1);
  assign(job, 1, {{0, 5, {8}}}, {0});
  wait_for_step(0, 1, 2);
  const auto superseded = supersede_claim(checkpoint_folder(job), 1, 2);
  ASSERT_TRUE(superseded) << superseded.error().message;
  const auto has_stopped = [](const AgentReport& report) {
    return report.workers.front().message.starts_with("waits for the operator");
  };
  const std::int64_t step = agents_[0]->wait_until(has_stopped).workers.front().step;
  for (int look = 0; look < 20; ++look) EXPECT_EQ(agents_[0]->report().workers.front().step, step);
}

TEST_F(Agents, APodThatTrainsAloneKeepsItsLeaseWhileTheNextGenerationIsPrepared) {
  const std::string host = own_address();
  const HttpListener operator_port(host, 8082);
  Assignment job = leased(this->job(1'000'000), host);
  start(2);
  EXPECT_EQ(agents_[0]->put(generation(job, 1, plan_of(job, {{0, 5, {8}}}), {agents_[0]->address()})), 200);
  static_cast<void>(operator_port.receive());
  job.lease_seconds = 0;
  const Plan next = plan_of(job, {{0, 5, {4, 4}}});
  EXPECT_EQ(agents_[0]->put(generation(job, 2, next, {agents_[0]->address(), agents_[1]->address()})), 200);
  constexpr int kQuestionsOfTwoLeases = 2 * kQuestionsPerLease;
  for (int question = 0; question < kQuestionsOfTwoLeases; ++question) {
    EXPECT_EQ(operator_port.receive().value("generation", 0), 1) << "the other agent knows nothing of generation 2";
  }
}

TEST_F(Agents, AnAgentSupersedesTheClaimOfAnOlderGeneration) {
  Assignment job = this->job(100'000);
  job.checkpoint.path = (scratch_.folder() / "checkpoints").string();
  start(1);
  const AgentAddress address = agents_[0]->address();
  const auto put = [&](const FolderClaim& claim) {
    return http("PUT", address.host, address.port, std::string(kClaimPath), to_json(claim).dump());
  };
  const FolderClaim claim{job.job, job.job_uid, job.checkpoint.path, 2, 1};
  EXPECT_THAT(put(claim).body.value("claimError", ""), HasSubstr("does not hold the claim of generation 1"));
  ASSERT_TRUE(claim_folder(checkpoint_folder(job), 1));
  const AgentReport report = agent_report_from_json(put(claim).body).value();
  EXPECT_EQ(report.superseded_claim, 1);
  EXPECT_EQ(report.claim_error, "");
  EXPECT_EQ(superseded_by(checkpoint_folder(job), 1).value(), 2);
  assign(job, 2, {{0, 5, {8}}}, {0});
  EXPECT_EQ(put({job.job, "another-uid", job.checkpoint.path, 3, 2}).status, 400);
}

// A named pipe stands for a file of a volume that does not answer: whoever opens it waits for the other end.
TEST_F(Agents, AnAgentAnswersWhileItsCheckpointFolderDoesNot) {
  Assignment job = this->job(100'000);
  job.checkpoint.path = (scratch_.folder() / "checkpoints").string();
  const auto pipe = checkpoint_folder(job) / "claims" / "00000001";
  std::filesystem::create_directories(pipe.parent_path());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  start(1);
  const AgentAddress address = agents_[0]->address();
  const std::string claim = to_json(FolderClaim{job.job, job.job_uid, job.checkpoint.path, 2, 1}).dump();
  std::counting_semaphore<> answers(0);
  std::vector<std::future<int>> claims(6);  // more than an agent has threads
  for (auto& status : claims) {
    status = std::async(std::launch::async, [&] {
      const int answered = http("PUT", address.host, address.port, std::string(kClaimPath), claim).status;
      answers.release();
      return answered;
    });
  }
  // All but the one that waits for the folder are answered while it waits.
  bool are_answered = true;
  for (int i = 0; i < 5; ++i) are_answered = are_answered && answers.try_acquire_for(std::chrono::seconds(20));
  if (are_answered) {
    EXPECT_THAT(agents_[0]->report().claim_error, HasSubstr("does not answer"));
  }
  const int other_end = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);  // ends the wait
  EXPECT_TRUE(are_answered);
  std::vector<int> statuses;
  for (auto& status : claims) statuses.push_back(status.get());
  EXPECT_THAT(statuses,
              UnorderedElementsAre(200, kStatusRetry, kStatusRetry, kStatusRetry, kStatusRetry, kStatusRetry));
  close(other_end);
}

TEST_F(Agents, OnlyANewerGenerationIsTaken) {
  const Assignment job = this->job(100'000);
  start(1);
  assign(job, 5, {{0, 5, {8}}}, {0});
  for (const std::int64_t number : {5, 4}) {
    EXPECT_EQ(agents_[0]->put(generation(job, number, plan_of(job, {{0, 5, {8}}}), {agents_[0]->address()})), 409);
  }
  EXPECT_EQ(agents_[0]->put(generation(job, 6, plan_of(job, {{0, 5, {8}}}), {agents_[0]->address()})), 200);
  EXPECT_EQ(agents_[0]->report().assigned_generation, 6);
}

TEST_F(Agents, AnIncompleteAssignmentIsRefusedWithASentence) {
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

TEST_F(Agents, APortInUseIsNamed) {
  start(1);
  AgentProcess second(scratch_.folder(), {}, 1, agents_[0]->address().host);
  EXPECT_EQ(second.wait_for_exit(), 2);
  EXPECT_THAT(second.log(), HasSubstr(agents_[0]->address().host + ":7071"));
}

}  // namespace
}  // namespace sailor::trainer::testing
