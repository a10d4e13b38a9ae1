#include "core/protocol/assignment.h"

#include <gtest/gtest.h>

#include "core/protocol/agent_report.h"

namespace sailor {
namespace {

const PoolKey kPool{Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};

// Two stages; the first with two replicas, the second with a tensor-parallel group of two; one worker leaves.
Assignment assignment() {
  Assignment result;
  result.job = {"team", "opt"};
  result.job_uid = "uid-1";
  result.generation = 3;
  result.model = find_model("tiny-gpt2").value();
  result.training.global_batch_size = 8;
  result.training.sequence_length = 64;
  result.training.steps = 10;
  result.training.microbatch_sizes = {1, 2};
  result.data.path = "/data/*.txt";
  result.plan = {.model = "tiny-gpt2",
                 .global_batch_size = 8,
                 .microbatch_size = 2,
                 .stages = {{0, 3, {{kPool, 1, 3}, {kPool, 1, 1}}}, {3, 6, {{kPool, 2, 4}}}},
                 .peer_replicas = true};
  result.agents = {{"opt-a-0", "127.0.0.2", 7070, 7071, kPool, 4}, {"opt-a-1", "127.0.0.3", 7070, 7071, kPool, 1}};
  result.workers = {
      {0, 0, Role{0, 0, 0}}, {0, 1, Role{0, 1, 0}}, {0, 2, Role{1, 0, 0}}, {0, 3, Role{1, 0, 1}}, {1, 0, std::nullopt}};
  result.leave_by.emplace(std::chrono::milliseconds(1'795'404'237'123));
  result.streaming_slowdown_percent = 7;
  result.failures_per_hour = 0.25;
  result.lease_seconds = 20;
  result.callback = "http://127.0.0.9:8082/v1/hints";
  return result;
}

TEST(Assignment, ReadsBackAsWritten) { EXPECT_EQ(assignment_from_json(to_json(assignment())).value(), assignment()); }

TEST(Assignment, BringsTheTimesOfItsPlan) {
  Assignment timed = assignment();
  const ReplicaTimes replica{Nanoseconds(3), Nanoseconds(5), 0, 2};
  const LinkTimes link{Nanoseconds(1), Nanoseconds(1)};
  timed.schedule_times = ScheduleTimes{{{replica, replica}, {replica}}, 1, {{link}}};
  EXPECT_EQ(assignment_from_json(to_json(timed)).value(), timed);
  timed.schedule_times->replicas.pop_back();
  EXPECT_EQ(assignment_from_json(to_json(timed)).error().message,
            "assignment.scheduleTimes.replicas: 1 stages: that does not fit the plan");
}

TEST(Assignment, OfAnOlderOperatorBringsNoTimes) {
  EXPECT_FALSE(to_json(assignment()).contains("scheduleTimes"));
  EXPECT_FALSE(assignment_from_json(to_json(assignment())).value().schedule_times);
}

TEST(Assignment, CountsTheWorkersThatTrain) { EXPECT_EQ(assignment().training_workers(), 4); }

TEST(Assignment, ARoleWithoutAWorkerIsRefused) {
  Assignment broken = assignment();
  broken.workers.erase(broken.workers.begin() + 1);
  EXPECT_EQ(check_complete(broken).error().message, "generation 3 of job team/opt: 1 roles have no worker");
}

TEST(Assignment, ARoleWithTwoWorkersIsRefused) {
  Assignment broken = assignment();
  broken.workers[1].role = Role{0, 0, 0};
  EXPECT_NE(check_complete(broken).error().message.find("by two workers"), std::string::npos);
}

TEST(Assignment, AGpuUsedTwiceIsRefused) {
  Assignment broken = assignment();
  broken.workers[1].gpu = 0;
  EXPECT_NE(check_complete(broken).error().message.find("GPU 0 of agent 0 is used twice"), std::string::npos);
}

TEST(Assignment, AGpuThatTheAgentDoesNotHaveIsRefused) {
  Assignment broken = assignment();
  broken.workers[4].gpu = 1;
  EXPECT_NE(check_complete(broken).error().message.find("GPU 1 of agent 1 does not exist"), std::string::npos);
}

TEST(Assignment, AnAssignmentThatReleasesTheGpusGivesNoRoles) {
  Assignment released = assignment();
  released.releases_gpus = true;
  EXPECT_FALSE(check_complete(released).has_value());
  for (WorkerSlot& worker : released.workers) worker.role.reset();
  EXPECT_TRUE(check_complete(released).has_value());
  EXPECT_EQ(assignment_from_json(to_json(released)).value(), released);
  released.releases_gpus = false;
  EXPECT_FALSE(check_complete(released).has_value());
}

void expect_refusal(const Assignment& broken, const std::string& sentence) {
  const auto read = assignment_from_json(to_json(broken));
  ASSERT_FALSE(read) << sentence;
  EXPECT_EQ(read.error().message.find("generation 3 of job team/opt: " + sentence), 0U) << read.error().message;
}

TEST(Assignment, APlanOfAnotherGlobalBatchIsRefused) {
  Assignment broken = assignment();
  broken.training.global_batch_size = 16;
  expect_refusal(broken, "plan.globalBatchSize: it is 8, but the job has 16");
}

TEST(Assignment, AMicrobatchSizeThatDoesNotDivideTheBatchIsRefused) {
  Assignment broken = assignment();
  broken.plan.microbatch_size = 3;
  expect_refusal(broken, "plan.microbatchSize: 3 does not divide the global batch 8");
}

TEST(Assignment, MicrobatchesThatAreNotThoseOfTheStepAreRefused) {
  Assignment broken = assignment();
  broken.plan.stages[0].replicas[0].microbatches = 2;
  expect_refusal(broken, "plan.stages[0].replicas: their microbatches sum up to 3, not to the 4 of the step");
}

TEST(Assignment, LayersThatNoStageOrTwoStagesHoldAreRefused) {
  Assignment broken = assignment();
  broken.plan.stages[1].first_layer = 2;
  expect_refusal(broken, "plan.stages[1].layers: [2, 6) is not a range that starts at 3");
  broken.plan.stages[1] = {.first_layer = 3, .last_layer = 5, .replicas = broken.plan.stages[1].replicas};
  expect_refusal(broken, "plan.stages[1].layers: the last stage ends at 5; it must end at 6");
}

TEST(Assignment, ThePlanMayDifferFromSettingsThatTheJobMayChangeWhileItTrains) {
  Assignment changed = assignment();
  changed.training.activation_checkpointing = ActivationCheckpointing::kAlways;
  changed.training.sequence_parallelism = SequenceParallelism::kAlways;
  EXPECT_TRUE(assignment_from_json(to_json(changed)));
}

TEST(Assignment, ALeaseOfNegativeLengthIsRefused) {
  Assignment broken = assignment();
  broken.lease_seconds = -5;
  const auto read = assignment_from_json(to_json(broken));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "assignment.leaseSeconds: -5 is below 0");
}

TEST(Assignment, AMissingFieldIsNamed) {
  auto json = to_json(assignment());
  json["agents"][1].erase("host");
  EXPECT_EQ(assignment_from_json(json).error().message, "assignment.agents[1].host: is missing");
}

TEST(Assignment, NamesAJobToResumeFromWithoutLeavingItsFolder) {
  Assignment read = assignment();
  read.checkpoint = {.path = "/checkpoints", .resume_from = ResumeFrom{"first"}};
  EXPECT_EQ(assignment_from_json(to_json(read)).value().checkpoint, read.checkpoint);
  read.checkpoint.resume_from->job = "../../other";
  EXPECT_NE(assignment_from_json(to_json(read)).error().message.find("parts of a path"), std::string::npos);
}

TEST(AgentReport, ReadsBackAsWritten) {
  const AgentReport report{.agent = "opt-a-0",
                           .is_terminating = true,
                           .workers = {{0, WorkerPhase::kTraining, 3, 41, ""},
                                       {1, WorkerPhase::kBroken, 3, 41, "lost", {1200, 300.5}, 0.25, 0.125}},
                           .progress = JobProgress{.generation = 3,
                                                   .step = 41,
                                                   .loss = 2.5,
                                                   .tokens = 1000,
                                                   .source = StateSource::kPeerReplica,
                                                   .times = {0.1, 0.2, 0.3, 0.6}},
                           .callback = "http://10.0.0.1:8082",
                           .unresponsive_peers = {"job-1", "job-2"}};
  EXPECT_EQ(agent_report_from_json(to_json(report)).value(), report);
}

TEST(AgentReport, WithoutAListOfWorkersIsRefused) {
  for (const nlohmann::json& wrong : {nlohmann::json(7), nlohmann::json("x"), nlohmann::json({{"0", 1}})}) {
    nlohmann::json json = to_json(AgentReport{.agent = "a", .workers = {{}}});
    json["workers"] = wrong;
    const auto read = agent_report_from_json(json);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("report.workers: "), std::string::npos) << read.error().message;
  }
}

TEST(AgentReport, AnUnknownPhaseIsRefused) {
  nlohmann::json json = to_json(AgentReport{.agent = "a", .workers = {{}}});
  json["workers"][0]["phase"] = "Dancing";
  EXPECT_NE(agent_report_from_json(json).error().message.find("report.workers[0].phase"), std::string::npos);
}

}  // namespace
}  // namespace sailor
