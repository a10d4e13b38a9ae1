// Which jobs the operator looks at after a change of the cluster.
#include "operator/watches.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/manifest.h"
#include "operator/model/names.h"
#include "operator/model/node_labels.h"
#include "operator/model/record_object.h"
#include "tests/operator/fake_api.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr const char* kT4 = "nvidia-tesla-t4";

// Jobs that may use the pool of the nodes "a" and "b", one that may not, and one of each kind that has to do with "a".
class JobsBesideANode : public ::testing::Test {
 protected:
  JobsBesideANode() {
    put_node("a");
    put_node("b");
    for (const char* name : {"has-pod", "claims", "had-pod", "trains"}) put_job(name, "True", "Planned");
    put_job("waits", "False", "WaitingForCapacity");
    put_job("no-plan", "False", "PlanInfeasible");
    put_job("elsewhere", "False", "WaitingForCapacity", "nvidia-l4");
    put_pod("has-pod", "a");
    put_pod("trains", "b");
    GenerationRecord claims;
    claims.placement.slots.push_back({.pod = "p", .pool = kPool, .node = "a"});
    put_record("claims", claims);
    GenerationRecord had_pod;
    had_pod.older.push_back({.members = {{.address = {.pool = kPool}, .node = "a"}}});
    put_record("had-pod", had_pod);
    GenerationRecord trains;
    trains.running.emplace().members.push_back({.address = {.pool = kPool}, .node = "b"});
    put_record("trains", trains);
    take_queued();
  }

  Json metadata(const std::string& name, const std::string& namespace_name) {
    return {{"name", name},
            {"namespace", namespace_name},
            {"uid", "uid-" + name},
            {"generation", 1},
            {"resourceVersion", std::to_string(++version_)}};
  }
  void put_node(
      const std::string& name, const std::function<void(Json&)>& change = [](Json&) {}) {
    Json node = {{"metadata", metadata(name, "")},
                 {"spec", Json::object()},
                 {"status",
                  {{"allocatable", {{kGpuResource, "2"}}},
                   {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
    node["metadata"]["labels"] = {{kGkeAcceleratorLabel, kT4}, {kZoneLabel, "us-central1-a"}, {kGkeSpotLabel, "true"}};
    change(node);
    caches_.nodes.put(std::move(node));
  }
  void put_job(const std::string& name, const char* planned, const char* reason, const char* accelerator = kT4) {
    caches_.jobs.put(
        {{"apiVersion", "sailor.dev/v1alpha1"},
         {"kind", "TrainingJob"},
         {"metadata", metadata(name, "default")},
         {"spec",
          {{"model", {{"name", "tiny-gpt2"}}},
           {"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 100}}},
           {"data", {{"format", "Bytes"}, {"path", "/data/*"}}},
           {"resources", {{"accelerators", {accelerator}}}}}},
         {"status",
          {{"conditions",
            Json::array({{{"type", "Planned"}, {"status", planned}, {"reason", reason}, {"message", ""}}})}}}});
  }
  void put_pod(const std::string& job, const std::string& node) {
    const Json container = {{"resources", {{"limits", {{kGpuResource, 2}}}}}};
    Json pod = {{"metadata", metadata("pod-of-" + job, "default")},
                {"spec", {{"nodeName", node}, {"containers", Json::array({container})}}},
                {"status", {{"phase", "Running"}}}};
    pod["metadata"]["labels"] = {{kJobNameLabel, job}};
    pod["metadata"]["ownerReferences"] =
        Json::array({{{"kind", "TrainingJob"}, {"name", job}, {"uid", "uid-" + job}, {"controller", true}}});
    caches_.pods.put(std::move(pod));
  }
  void remove_pod(const std::string& job) { caches_.pods.erase(*caches_.pods.find({"default", "pod-of-" + job})); }
  void remove_node(const std::string& name) { caches_.nodes.erase(*caches_.nodes.find({"", name})); }
  void put_record(const std::string& job, GenerationRecord record) {
    record.job_uid = "uid-" + job;
    Json object = job_record_of(record, {"default", job}, std::to_string(++version_));
    caches_.records.put(std::move(object));
  }
  void put_growing_pool() {
    caches_.pools.put({{"apiVersion", "sailor.dev/v1alpha1"},
                       {"kind", "GpuPool"},
                       {"metadata", metadata("pool", "")},
                       {"spec",
                        {{"region", "us-central1"},
                         {"zone", "us-central1-a"},
                         {"accelerator", kT4},
                         {"provisioning", "Spot"},
                         {"gpusPerNode", 2},
                         {"maxNodes", 3}}}});
    take_queued();
  }

  // Takes all jobs from the queue, each once. The last key is due after all others.
  std::vector<std::string> take_queued() {
    const JobKey last{"~", "~"};
    queue_.add_after(last, std::chrono::milliseconds(50), Lane::kRoutine);
    std::vector<std::string> names;
    for (auto key = queue_.take({}); key != last; key = queue_.take({})) {
      queue_.done(*key);
      if (std::ranges::find(names, key->name) == names.end()) names.push_back(key->name);
    }
    queue_.done(last);
    return names;
  }
  static auto those_with_a() { return UnorderedElementsAre("has-pod", "claims", "had-pod", "waits", "no-plan"); }
  static auto all_of_the_pool() {
    return UnorderedElementsAre("has-pod", "claims", "had-pod", "trains", "waits", "no-plan");
  }
  static void make_unready(Json& node) { node["status"]["conditions"][0]["status"] = "Unknown"; }
  static void taint(Json& node, const char* key) {
    node["spec"]["taints"].push_back({{"key", key}, {"effect", "NoSchedule"}});
  }
  static void announce_end(Json& node) { taint(node, "cloud.google.com/impending-node-termination"); }

  const PoolKey kPool{Zone("us-central1-a"), Accelerator(kT4), Provisioning::kSpot};
  Caches caches_;

 private:
  long version_ = 0;
  testing::FakeApi server_;
  kube::Api api_{server_};
  JobIndex index_{caches_.jobs, job_from_manifest};
  WorkQueue queue_;
  Watches watches_{api_, caches_, index_, queue_, [] {}};
};

TEST_F(JobsBesideANode, LossConcernsThoseThatHaveToDoWithTheNodeAndThoseWithoutAPlan) {
  put_node("a", make_unready);
  EXPECT_THAT(take_queued(), those_with_a());
  put_node("a");
  take_queued();
  put_node("a", announce_end);
  EXPECT_THAT(take_queued(), those_with_a());
  put_node("a");
  take_queued();
  put_node("a", [](Json& node) { node["spec"]["unschedulable"] = true; });
  EXPECT_THAT(take_queued(), those_with_a());
  put_node("a");
  take_queued();
  put_node("a", [](Json& node) { node["metadata"]["labels"].erase(kGkeAcceleratorLabel); });
  EXPECT_THAT(take_queued(), those_with_a());
}

TEST_F(JobsBesideANode, ThoseThatHaveToDoWithTheNodeAreUrgent) {
  put_node("a", announce_end);
  std::vector<std::string> queued = take_queued();
  ASSERT_EQ(queued.size(), 5U);
  queued.resize(3);
  EXPECT_THAT(queued, UnorderedElementsAre("has-pod", "claims", "had-pod"));
}

TEST_F(JobsBesideANode, EndOfANodeConcernsThoseThatHaveToDoWithItAndThoseWithoutAPlan) {
  remove_node("a");
  EXPECT_THAT(take_queued(), those_with_a());
  remove_pod("has-pod");
  EXPECT_THAT(take_queued(), ElementsAre("has-pod")) << "nobody gets the GPUs of a node that is gone";
}

TEST_F(JobsBesideANode, EndOfANodeConcernsAllThatMayUseItsPoolIfThePoolCanGrow) {
  put_growing_pool();
  put_node("a", announce_end);
  EXPECT_THAT(take_queued(), those_with_a()) << "the node is still there";
  remove_node("a");
  EXPECT_THAT(take_queued(), all_of_the_pool());
}

TEST_F(JobsBesideANode, EndOfAPodConcernsAllThatMayUseItsNode) {
  remove_pod("has-pod");
  EXPECT_THAT(take_queued(), all_of_the_pool());
}

TEST_F(JobsBesideANode, EndOfAPodOnANodeThatTakesNoPodsConcernsThoseThatHaveToDoWithTheNode) {
  put_node("a", announce_end);
  take_queued();
  remove_pod("has-pod");
  EXPECT_THAT(take_queued(), UnorderedElementsAre("has-pod", "claims", "had-pod"));
}

TEST_F(JobsBesideANode, ReturnOfANodeConcernsAllThatMayUseIt) {
  put_node("a", make_unready);
  take_queued();
  put_node("a");
  EXPECT_THAT(take_queued(), all_of_the_pool());
  put_node("c");
  EXPECT_THAT(take_queued(), all_of_the_pool());
}

}  // namespace
}  // namespace sailor
