// Pods that the API server refuses to create: what a user of the job learns, and that nodes are not blamed.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kPodSecurity =
    R"(pods "job" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot)";
constexpr const char* kQuota = R"(pods "job" is forbidden: exceeded quota: team, requested: pods=1, limited: pods=0)";
constexpr const char* kWebhook = R"(Internal error occurred: failed calling webhook "check.example.com": no endpoints)";

HttpResponse refusal(int code, const std::string& reason, const std::string& message) {
  const Json status = {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}};
  return {code, status.dump(), std::nullopt};
}

std::ptrdiff_t creations(const World& world) {
  return std::ranges::count(world.api_server.requests, std::string("POST ") + kPods);
}

std::ptrdiff_t events_of(const World& world, const std::string& reason) {
  return std::ranges::count(world.events(), reason);
}

class RefusedPods : public JobOnTwoNodes {
 protected:
  void start_refused(int code, const std::string& reason, const std::string& message) {
    world.api_server.refusals["pods"] = refusal(code, reason, message);
    start();
  }
};

TEST_F(RefusedPods, AreReportedWithTheServersWordsAndARemedy) {
  start_refused(403, "Forbidden", kPodSecurity);
  EXPECT_THAT(world.condition("PodsReady"), AllOf(StartsWith("False PodRefused: Pod job-"), HasSubstr(kPodSecurity),
                                                  HasSubstr("pod-security.kubernetes.io/enforce")));
  EXPECT_THAT(world.condition("Planned"), StartsWith("True"));
  EXPECT_EQ(events_of(world, "PodRefused"), 1);
}

TEST_F(RefusedPods, AreReportedWhateverTheCause) {
  struct Case {
    int code;
    const char* reason;
    const char* message;
    const char* remedy;
  };
  for (const Case& each :
       {Case{403, "Forbidden", kQuota, "ResourceQuota"}, Case{422, "Invalid", "x is invalid", "Correct"},
        Case{500, "InternalError", kWebhook, "Repair the admission webhook"},
        Case{404, "NotFound", "namespaces not found", "administrator"}}) {
    World here;
    here.api_server.refusals["pods"] = refusal(each.code, each.reason, each.message);
    here.add_node("a", 2);
    here.add_job();
    here.settle();
    EXPECT_THAT(here.condition("PodsReady"),
                AllOf(StartsWith("False PodRefused"), HasSubstr(each.message), HasSubstr(each.remedy)));
  }
}

TEST_F(RefusedPods, AreTriedAgainAfterAWhileAndTheJobStartsOnceTheyAreAccepted) {
  start_refused(403, "Forbidden", kQuota);
  EXPECT_EQ(creations(world), 1) << "the other pod is useless without the first one";
  EXPECT_EQ(world.requeue_after, std::chrono::seconds(5));
  world.pass(std::chrono::seconds(6));
  world.settle();
  EXPECT_EQ(creations(world), 2);
  world.api_server.refusals.clear();
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("True"));
  EXPECT_EQ(events_of(world, "PodRefused"), 1);
}

TEST_F(RefusedPods, AreTriedAgainAtOnceIfTheSpecChanges) {
  start_refused(422, "Invalid", "spec.containers[0].image is invalid");
  world.api_server.refusals.clear();
  world.change_job([](Json& job) { job["spec"]["podTemplate"] = {{"metadata", {{"labels", {{"team", "x"}}}}}}; });
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(RefusedPods, AreNotTheFaultOfTheirNodes) {
  start_refused(403, "Forbidden", kQuota);
  for (int i = 0; i < 15; ++i) {
    world.pass(std::chrono::minutes(1));
    world.reconcile();
  }
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("False PodRefused"));
  world.api_server.refusals.clear();
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b")) << "no node is quarantined";
}

TEST_F(RefusedPods, OfAVoluntaryChangeLetTheJobTrainOn) {
  start();
  world.api_server.refusals["pods"] = refusal(403, "Forbidden", kQuota);
  world.add_node("c", 2);
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.events(), Contains("ChangeWithdrawn"));
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_EQ(events_of(world, "ChangeWithdrawn"), 1) << "the same change is not proposed at once";
  world.api_server.refusals.clear();
  world.pass(std::chrono::minutes(6));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
}

TEST_F(RefusedPods, NameOfAnotherPodIsNotTakenForOurs) {
  const PoolKey pool{Zone("us-central1-a"), Accelerator("nvidia-tesla-t4"), Provisioning::kSpot};
  const std::string name = slot_name("job", pool, 0);
  world.api_server.put(kPods, {{"metadata", {{"name", name}}}, {"status", {{"phase", "Running"}}}});
  world.add_node("a", 2);
  world.add_job();
  world.settle();
  EXPECT_THAT(world.condition("PodsReady"),
              AllOf(StartsWith("False PodRefused"), HasSubstr(name), HasSubstr("does not belong to the job")));
  world.api_server.erase(kPods, name);
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(RefusedPods, PodThatHasLostItsLabelsIsNamedWithTheCommandThatPutsThemBack) {
  start();
  const std::string name = world.pod_on("a");
  const Json whole = world.api_server.find("pods", name);
  Json bare = whole;
  bare["metadata"]["labels"] = Json::object();
  world.api_server.put(kPods, bare);
  for (int i = 0; i < 10; ++i) {
    world.pass(std::chrono::seconds(10));
    world.settle();
  }
  EXPECT_EQ(world.state(), "Running") << "it trains on with the other pod";
  EXPECT_THAT(creations(world), ::testing::Le(8)) << "the name is taken, so it tries seldom";
  std::vector<std::string> notes;
  for (const Json& event : world.api_server.all("events")) notes.push_back(kube::text_at(event, {"note"}));
  EXPECT_THAT(notes, Contains(AllOf(
                         HasSubstr("Pod " + name + " is refused: it exists, but has lost the labels"),
                         HasSubstr("kubectl label --overwrite -n default pod " + name + " sailor.dev/job-name=job"))));
  bare["metadata"]["labels"] = whole["metadata"]["labels"];
  world.api_server.put(kPods, bare);
  for (int i = 0; i < 10; ++i) {
    world.pass(std::chrono::minutes(1));
    world.settle();
  }
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

TEST_F(RefusedPods, LongWordsOfTheServerAreCutBetweenCharacters) {
  std::string words = "x";
  for (int i = 0; i < 2000; ++i) words += "\xC3\xA9";  // a letter of two bytes
  start_refused(403, "Forbidden", words);
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("False PodRefused"));
  EXPECT_EQ(events_of(world, "PodRefused"), 1);
}

}  // namespace
}  // namespace sailor::testing
