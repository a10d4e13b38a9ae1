// A job whose record is deleted, belongs to somebody else, or comes from an older operator. The number of a generation
// never goes back, because agents obey only newer generations.
#include "operator/reconcile/decide/lost_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/model/observation_queries.h"
#include "operator/model/record_object.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kRecords = "/apis/sailor.dev/v1alpha1/namespaces/default/jobrecords";
constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";

class LostRecord : public JobOnTwoNodes {
 protected:
  // Makes the job change until it has reached this generation.
  void start_and_reach(std::int64_t generation) {
    start({{"checkpoint", {{"path", "/checkpoints"}}}});
    for (std::int64_t next = 2; next <= generation; ++next) {
      world.add_node("more-" + std::to_string(next), 1);
      world.pass(std::chrono::seconds(11));
      world.settle();
    }
    ASSERT_EQ(world.generation(), generation);
  }
  [[nodiscard]] std::vector<std::string> pod_uids() const {
    std::vector<std::string> uids;
    for (const Json& pod : world.api_server.all("pods")) uids.push_back(kube::uid_of(pod));
    return uids;
  }
};

TEST_F(LostRecord, TheHistorySaysHowManyGpusTheJobHad) {
  start();
  world.lose_record();
  world.settle();
  EXPECT_EQ(world.status()["rescales"].back()["reason"], "RecordLost");
  EXPECT_EQ(world.status()["rescales"].back()["fromGpus"], 3);
}

TEST_F(LostRecord, PodThatWasReleasedButNotRemovedYetIsNotWaitedFor) {
  start();
  world.change_job([](Json& job) { job["spec"]["resources"]["maxGpus"] = 2; });
  WorkerReport& released = world.agent_on("b").report.value().workers[0];
  released.phase = WorkerPhase::kReleased;
  world.lose_record();
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_GT(world.generation(), 1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
}

TEST_F(LostRecord, JobGoesOnWithItsPodsAndAHigherNumber) {
  start_and_reach(5);
  const std::vector<std::string> before = pod_uids();
  world.lose_record();
  world.settle();
  EXPECT_EQ(pod_uids(), before);
  EXPECT_EQ(world.generation(), 6);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["rescales"].back()["reason"], "RecordLost");
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.generation(), 7);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LostRecord, NumberIsAboveWhatAgentsReportEvenIfTheStatusIsOlder) {
  start_and_reach(2);
  world.agent_on("a").report->assigned_generation = 9;  // an operator died before it wrote the status
  world.lose_record();
  world.settle();
  EXPECT_EQ(world.generation(), 10);
}

TEST_F(LostRecord, NewOperatorAsksAllPodsBeforeItChoosesANumber) {
  start_and_reach(2);
  const auto heard = world.agents;
  for (auto& [uid, agent] : world.agents) agent = AgentView{};
  world.lose_record();
  world.restart_operator();
  world.sent.clear();
  world.settle();
  EXPECT_THAT(world.sent, IsEmpty());
  EXPECT_TRUE(world.api_server.find("jobrecords", "job").is_null());
  EXPECT_THAT(world.condition("Planned"), StartsWith("False RecordLost"));
  EXPECT_EQ(world.generation(), 2) << "the status still says what is known";
  world.agents = heard;
  world.agent_on("a").report->assigned_generation = 4;
  world.settle();
  EXPECT_EQ(world.generation(), 5);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LostRecord, PodThatMayTrainOnIsWaitedFor) {
  start();
  for (auto& [uid, agent] : world.agents) agent.unanswered_polls = 5;
  world.add_node("c", 1);
  world.lose_record();
  world.sent.clear();
  world.settle();
  EXPECT_THAT(world.sent, IsEmpty()) << "either of the two pods may train alone, for all that is known";
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("False PodsPending: The agent of pod job-"));
  world.remove_node("a");
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), Not(IsEmpty()));
}

TEST_F(LostRecord, RecordOfABackupIsOutnumbered) {
  start();
  const Json backup = world.api_server.find("jobrecords", "job");
  world.add_node("c", 1);
  world.pass(std::chrono::seconds(11));
  world.settle();
  ASSERT_EQ(world.generation(), 2);
  world.api_server.put(kRecords, backup);
  world.settle();
  EXPECT_EQ(world.record().generation, 3);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LostRecord, SuspendedJobStillSavesItsState) {
  start_and_reach(2);
  world.lose_record();
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  EXPECT_TRUE(world.sent.back().releases_gpus);
  EXPECT_EQ(world.state(), "Suspended") << world.status().dump(1);
}

TEST_F(LostRecord, JobThatNeverTrainedKeepsNoGpusIfTooFewAreLeft) {
  World here;
  here.agents_hang = true;
  here.add_node("a", 2);
  here.add_job({{"checkpoint", {{"path", "/checkpoints"}}}, {"resources", {{"minGpus", 2}}}});
  here.settle();
  here.lose_record();
  here.preempt("a");
  here.settle();
  EXPECT_EQ(here.state(), "Waiting");
  EXPECT_THAT(here.pods(), IsEmpty());
}

TEST_F(LostRecord, JobWithTooFewGpusLeftSavesItsStateAndReleasesThem) {
  start({{"checkpoint", {{"path", "/checkpoints"}}}, {"resources", {{"minGpus", 3}}}});
  world.lose_record();
  world.remove_node("b");
  world.break_peers();
  world.settle();
  EXPECT_EQ(world.state(), "Waiting") << world.status().dump(1);
  EXPECT_TRUE(world.sent.back().releases_gpus);
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_EQ(world.status()["rescales"].back()["fromGpus"], 3);
  world.add_node("c", 1);
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LostRecord, JobTrainsOnIfNoPlanFitsItsSpecAnyMore) {
  start({{"checkpoint", {{"path", "/checkpoints"}}}});
  world.change_job([](Json& job) { job["spec"]["resources"]["minGpus"] = 100; });
  world.settle();
  ASSERT_EQ(world.state(), "Running") << world.status().dump(1);
  world.lose_record();
  world.settle();
  EXPECT_FALSE(world.sent.back().releases_gpus);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
}

TEST_F(LostRecord, SuspendedJobWithTooFewGpusLeftStillSavesItsState) {
  start({{"checkpoint", {{"path", "/checkpoints"}}}, {"resources", {{"minGpus", 3}}}});
  world.lose_record();
  world.remove_node("b");
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  EXPECT_EQ(world.state(), "Suspended") << world.status().dump(1);
  EXPECT_TRUE(world.sent.back().releases_gpus);
}

TEST_F(LostRecord, SuspendedJobWithoutGpusIsSuspended) {
  World here;
  here.add_node("a", 2);
  here.add_job({{"checkpoint", {{"path", "/checkpoints"}}}});
  here.settle();
  here.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  here.settle();
  here.lose_record();
  here.remove_node("a");
  here.settle();
  EXPECT_EQ(here.state(), "Suspended") << here.status().dump(1);
}

TEST_F(LostRecord, PodThatHasNeverRunIsNotWaitedFor) {
  World here;
  here.stuck_nodes.insert("b");
  here.add_node("a", 2);
  here.add_node("b", 2);
  here.add_job();
  here.settle();
  here.lose_record();
  here.remove_node("b");
  here.settle();
  EXPECT_EQ(here.state(), "Running") << here.status().dump(1);
  EXPECT_THAT(here.nodes_in_use(), ElementsAre("a"));
}

TEST_F(LostRecord, JobWhoseStepsAreDoneIsComplete) {
  start();
  world.lose_record();
  world.finish_pods();
  world.settle();
  EXPECT_EQ(world.state(), "Complete") << world.status().dump(1);
}

TEST_F(LostRecord, JobRecordOfSomebodyElseIsReportedAndLeftAlone) {
  const Json foreign = {{"metadata", {{"name", "job"}, {"namespace", "default"}}}, {"spec", {{"note", "mine"}}}};
  world.api_server.put(kRecords, foreign);
  start();
  EXPECT_THAT(world.condition("Planned"),
              StartsWith("False InvalidRecord: JobRecord default/job exists, but this job"));
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_EQ(world.api_server.find("jobrecords", "job")["spec"]["note"], "mine");
  world.lose_record();
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LostRecord, ConfigMapOfSomebodyElseIsReportedAndTheJobTrains) {
  const Json foreign = {{"metadata", {{"name", "job-plan"}, {"namespace", "default"}}}, {"data", {{"note", "mine"}}}};
  world.api_server.put(kConfigMaps, foreign);
  start();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.condition("Planned"), HasSubstr("ConfigMap job-plan is not the job's"));
  EXPECT_EQ(world.api_server.find("configmaps", "job-plan")["data"]["note"], "mine");
}

TEST_F(LostRecord, ConfigMapShowsTheNewestPlanAndNothingIsReadBackFromIt) {
  start();
  Json map = world.api_server.find("configmaps", "job-plan");
  EXPECT_THAT(map["data"]["plan.json"].get<std::string>(), HasSubstr("\"stages\""));
  map["data"]["plan.json"] = "nonsense";
  world.api_server.put(kConfigMaps, map);
  world.restart_operator();
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.api_server.find("configmaps", "job-plan")["data"]["plan.json"].get<std::string>(),
              HasSubstr("\"stages\""));
}

TEST_F(LostRecord, RecordOfAnOlderOperatorMovesToAJobRecord) {
  start();
  const GenerationRecord before = world.record();
  Json map = world.api_server.find("configmaps", "job-plan");
  map["data"]["record.json"] = to_json(before).dump();
  map["metadata"].erase("annotations");
  world.api_server.put(kConfigMaps, map);
  world.lose_record();
  world.restart_operator();
  world.sent.clear();
  world.settle();
  EXPECT_EQ(world.record(), before);
  EXPECT_FALSE(world.api_server.find("configmaps", "job-plan")["data"].contains("record.json"));
  EXPECT_THAT(world.sent, IsEmpty()) << "the job trains on undisturbed";
}

}  // namespace
}  // namespace sailor::testing
