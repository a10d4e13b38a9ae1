// Which nodes count as capacity for a job: taints, and what its template says about nodes.
#include "operator/model/scheduling_rules.h"

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
using ::testing::Not;
using ::testing::StartsWith;

NodeView node(std::map<std::string, std::string> labels, std::vector<Taint> taints = {}) {
  NodeView view;
  view.name = "n";
  view.labels = std::make_shared<const std::map<std::string, std::string>>(std::move(labels));
  view.taints = std::move(taints);
  return view;
}

bool accepts(const char* pod_spec, const NodeView& view) {
  const SchedulingRules rules(Json::parse(pod_spec));
  EXPECT_EQ(rules.accept(view), rules.obstacle(view).empty());
  return rules.accept(view);
}

bool accepts_label(const char* requirement, const char* value) {
  const std::string spec =
      std::string(R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms": [{"matchExpressions": [)") +
      requirement + "]}]}}}}";
  return accepts(spec.c_str(), node({{"size", value}}));
}

TEST(Rules, TaintNeedsAToleration) {
  const NodeView tainted = node({}, {{"team", "a", "NoSchedule"}});
  EXPECT_FALSE(accepts("{}", tainted));
  EXPECT_TRUE(accepts(R"({"tolerations": [{"key": "team", "operator": "Exists"}]})", tainted));
  EXPECT_TRUE(accepts(R"({"tolerations": [{"key": "team", "value": "a"}]})", tainted));
  EXPECT_FALSE(accepts(R"({"tolerations": [{"key": "team", "value": "b"}]})", tainted));
  EXPECT_FALSE(accepts(R"({"tolerations": [{"key": "team", "operator": "Exists", "effect": "NoExecute"}]})", tainted));
  EXPECT_TRUE(accepts(R"({"tolerations": [{"operator": "Exists"}]})", tainted));
  EXPECT_TRUE(accepts("{}", node({}, {{"team", "a", "PreferNoSchedule"}})));
}

TEST(Rules, SelectedLabelsMustBeOnTheNode) {
  EXPECT_TRUE(accepts(R"({"nodeSelector": {"team": "a"}})", node({{"team", "a"}})));
  EXPECT_FALSE(accepts(R"({"nodeSelector": {"team": "a"}})", node({{"team", "b"}})));
  EXPECT_FALSE(accepts(R"({"nodeSelector": {"team": "a"}})", node({})));
}

TEST(Rules, AffinityIsReadAsTheSchedulerReadsIt) {
  EXPECT_TRUE(accepts_label(R"({"key": "size", "operator": "In", "values": ["4", "8"]})", "8"));
  EXPECT_FALSE(accepts_label(R"({"key": "size", "operator": "In", "values": ["4"]})", "8"));
  EXPECT_FALSE(accepts_label(R"({"key": "size", "operator": "NotIn", "values": ["8"]})", "8"));
  EXPECT_TRUE(accepts_label(R"({"key": "color", "operator": "NotIn", "values": ["8"]})", "8"));
  EXPECT_TRUE(accepts_label(R"({"key": "size", "operator": "Exists"})", "8"));
  EXPECT_FALSE(accepts_label(R"({"key": "size", "operator": "DoesNotExist"})", "8"));
  EXPECT_TRUE(accepts_label(R"({"key": "size", "operator": "Gt", "values": ["4"]})", "8"));
  EXPECT_FALSE(accepts_label(R"({"key": "size", "operator": "Lt", "values": ["4"]})", "8"));
  EXPECT_FALSE(accepts_label(R"({"key": "size", "operator": "Gt", "values": ["4"]})", "large"));
}

TEST(Rules, FutureNodeIsKnownByTheLabelsOfItsPool) {
  const Labels labels = {{"team", "a"}};
  EXPECT_TRUE(SchedulingRules(Json::parse(R"({"nodeSelector": {"team": "a"}})")).accept_future_node(labels));
  EXPECT_FALSE(SchedulingRules(Json::parse(R"({"nodeSelector": {"team": "b"}})")).accept_future_node(labels));
  EXPECT_TRUE(SchedulingRules(Json::parse(R"({"nodeSelector": {"unknown": "b"}})")).accept_future_node(labels));
}

class NodesOfAJob : public JobOnTwoNodes {
 protected:
  void change_node(const std::string& name, const std::function<void(Json&)>& change) {
    Json node = world.api_server.find("nodes", name);
    change(node);
    world.api_server.put("/api/v1/nodes", node);
  }
  void add_v100(const std::string& name) {
    world.add_node(name, 2);
    change_node(name, [](Json& node) { node["metadata"]["labels"][kGkeAcceleratorLabel] = "nvidia-tesla-v100"; });
  }
  void taint(const std::string& name) {
    change_node(name, [](Json& node) {
      node["spec"]["taints"] = Json::array({{{"key", "team"}, {"value", "x"}, {"effect", "NoSchedule"}}});
    });
  }
};

TEST_F(NodesOfAJob, TaintedNodeIsNoCapacity) {
  world.add_node("a", 2);
  world.add_node("b", 1);
  taint("a");
  world.add_job();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("b"));
}

TEST_F(NodesOfAJob, TaintedNodeIsCapacityForAJobThatToleratesIt) {
  world.add_node("a", 2);
  world.add_node("b", 1);
  taint("a");
  world.add_job(
      {{"podTemplate", {{"spec", {{"tolerations", Json::array({{{"key", "team"}, {"operator", "Exists"}}})}}}}}});
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

TEST_F(NodesOfAJob, TemplatesNodeSelectorCountsInCapacity) {
  world.add_node("a", 2);
  world.add_job({{"podTemplate", {{"spec", {{"nodeSelector", {{"team", "x"}}}}}}}});
  world.settle();
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
}

TEST_F(NodesOfAJob, JobThatWaitsSaysWhatExcludesTheFreeGpus) {
  for (const char* name : {"a", "b", "c", "d", "e"}) world.add_node(name, 2);
  taint("a");
  change_node("b", [](Json& node) { node["spec"]["unschedulable"] = true; });
  change_node("c", [](Json& node) { node["status"]["conditions"][0]["status"] = "False"; });
  change_node("d", [](Json& node) { node["metadata"]["labels"]["team"] = "y"; });
  world.preempt("e");
  change_node("e", [](Json& node) { node["status"]["allocatable"][kGpuResource] = "4"; });
  world.add_job({{"podTemplate", {{"spec", {{"nodeSelector", {{"team", "x"}}}}}}}});
  change_node("a", [](Json& node) { node["metadata"]["labels"]["team"] = "x"; });
  world.settle();
  EXPECT_THAT(world.condition("Planned"),
              AllOf(StartsWith("False WaitingForCapacity"), HasSubstr("The job cannot use 12 free GPUs: "),
                    HasSubstr("4 on nodes that are about to be terminated"), HasSubstr("2 on cordoned nodes"),
                    HasSubstr("2 on nodes that are not ready"),
                    HasSubstr("2 on nodes without the label team=x, which the nodeSelector of the job's podTemplate"),
                    HasSubstr("2 on nodes with the taint team=x:NoSchedule, which the job's podTemplate does not")));
}

TEST_F(NodesOfAJob, GpusOfPoolsThatTheJobDoesNotAllowNeedNoReason) {
  world.add_node("a", 2);
  world.add_job({{"resources", {{"zones", {"us-east1-b"}}}}});
  world.settle();
  EXPECT_THAT(world.condition("Planned"),
              AllOf(StartsWith("False WaitingForCapacity"), Not(HasSubstr("The job cannot use"))));
}

TEST_F(NodesOfAJob, GpusWithoutKernelsAreNoCapacity) {
  world.add_node("a", 2);
  add_v100("old");
  world.add_job();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
  EXPECT_THAT(world.status()["poolsWithoutKernels"], ElementsAre("us-central1-a/nvidia-tesla-v100/spot"));
  EXPECT_THAT(world.events(), Contains("PoolWithoutKernels"));
}

TEST_F(NodesOfAJob, ImageMayHaveKernelsForOldGpus) {
  world.settings.least_capability = {7, 0};
  world.restart_operator();
  add_v100("old");
  world.add_job();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("old"));
}

// Nodes as Karpenter makes them on Amazon's machines.
TEST_F(NodesOfAJob, NodesOfAnotherCloudAreUsedOnceTheirPriceIsKnown) {
  for (const char* name : {"a", "b"}) {
    world.add_node(name, 2, "us-east-1a");
    Json node = world.api_server.find("nodes", name);
    node["metadata"]["labels"] = {{kZoneLabel, "us-east-1a"},
                                  {"topology.kubernetes.io/region", "us-east-1"},
                                  {"karpenter.k8s.aws/instance-gpu-name", "t4"},
                                  {"karpenter.sh/capacity-type", "spot"}};
    node["spec"]["providerID"] = std::string("aws:///us-east-1a/i-") + name;
    world.api_server.put("/api/v1/nodes", node);
  }
  world.add_job();
  world.settle();
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
  EXPECT_THAT(world.status()["unpricedPools"], ElementsAre("us-east-1a/nvidia-tesla-t4/spot"))
      << "Google's list price is not Amazon's";
  world.add_pool("amazon", {{"region", "us-east-1"}, {"zone", "us-east-1a"}});
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  for (const Json& pod : world.api_server.all("pods"))
    EXPECT_FALSE(pod["spec"].contains("nodeSelector")) << "the scheduler would look for GKE's labels in vain";
  Json interrupted = world.api_server.find("nodes", "a");
  interrupted["spec"]["taints"] = Json::array({{{"key", "karpenter.sh/disrupted"}, {"effect", "NoSchedule"}}});
  world.api_server.put("/api/v1/nodes", interrupted);
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("b"));
}

TEST_F(NodesOfAJob, NodeThatIsTaintedLaterKeepsItsPod) {
  start();
  taint("a");
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace sailor::testing
