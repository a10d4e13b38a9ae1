// Pods as they are created, names, placement.
#include "operator/render/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/model/node_labels.h"
#include "operator/reconcile/decide/placement.h"
#include "operator/reconcile/observe/pod_view.h"
#include "operator/render/merge.h"
#include "tests/operator/small_plan.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kPool;
using testing::plan_of;
using ::testing::StartsWith;

JobView job() {
  JobView view;
  view.key = {"default", "opt"};
  view.uid = "job-uid";
  return view;
}

Slot slot() { return {slot_name("opt", kPool, 0), kPool, "node-1", "node-uid", 2}; }

TEST(Pod, AsksForItsGpusAndIsPinnedToItsNode) {
  const Json pod = render_pod(job(), slot(), 3, {"trainer:1", ""}, {});
  EXPECT_EQ(gpus_of_pod(pod), 2);
  EXPECT_EQ(
      pod.at(
          "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0"_json_pointer),
      "node-1");
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
  EXPECT_EQ(pod["spec"]["automountServiceAccountToken"], false);
  const PodView view = pod_view(pod, "job-uid");
  EXPECT_EQ(view.pool, kPool);
  EXPECT_EQ(view.created_for_generation, 3);
  EXPECT_EQ(view.node, "node-1");
  EXPECT_TRUE(view.is_ours);
}

TEST(Pod, ForANewNodeNeedsTheLabelsOfItsPool) {
  Slot slot{.pod = "opt-0", .pool = kPool, .node = "", .node_uid = "", .gpus = 2};
  Labels labels = labels_of_new_node(slot.pool, /*is_on_gke=*/true);
  labels["team"] = "a";
  const Json spec = render_pod(job(), slot, 1, {"trainer:1", ""}, {labels})["spec"];
  EXPECT_EQ(spec["nodeSelector"], (Json{{"cloud.google.com/gke-accelerator", kPool.accelerator.str()},
                                        {"cloud.google.com/gke-spot", "true"},
                                        {"team", "a"},
                                        {"topology.kubernetes.io/zone", kPool.zone.str()}}));
  EXPECT_FALSE(spec.contains("affinity"));
}

TEST(Pod, ForANewNodeOnDemandStaysAwayFromSpotNodes) {
  Slot slot{.pod = "opt-0", .pool = kPool, .node = "", .node_uid = "", .gpus = 2};
  slot.pool.provisioning = Provisioning::kOnDemand;
  const Json spec = render_pod(job(), slot, 1, {"trainer:1", ""}, {labels_of_new_node(slot.pool, true)})["spec"];
  EXPECT_FALSE(spec["nodeSelector"].contains("cloud.google.com/gke-spot"));
  EXPECT_EQ(
      spec.at(
          "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0"_json_pointer),
      (Json{{"key", "cloud.google.com/gke-spot"}, {"operator", "DoesNotExist"}}));
}

TEST(Pod, TellsItsWorkersHowLongSilenceMayLast) {
  OperatorSettings settings;
  settings.peer_timeout = std::chrono::seconds(7);
  const Json args = render_pod(job(), slot(), 1, settings, {})["spec"]["containers"][0]["args"];
  EXPECT_THAT(args.get<std::vector<std::string>>(), Contains("--peer-timeout=7"));
}

TEST(Pod, TakesTheTemplatesFieldsButNotItsIdentity) {
  JobView view = job();
  view.pod_template =
      Json::parse(R"({"metadata": {"name": "mine", "labels": {"team": "x", "sailor.dev/job-uid": "other"}},
    "spec": {"containers": [{"name": "trainer", "image": "own:2", "env": [{"name": "A", "value": "1"}]}, {"name": "side", "image": "s"}],
             "volumes": [{"name": "data", "emptyDir": {}}]}})");
  const Json pod = render_pod(view, slot(), 1, {"trainer:1", ""}, {});
  EXPECT_EQ(pod["metadata"]["name"], slot().pod);
  EXPECT_EQ(pod["metadata"]["labels"]["team"], "x");
  EXPECT_EQ(kube::label_of(pod, kJobUidLabel), "job-uid");
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "own:2");
  EXPECT_EQ(pod["spec"]["containers"][0]["env"].size(), 5U) << "the template's variable is added to ours";
  EXPECT_EQ(pod["spec"]["containers"][1]["name"], "side");
}

TEST(Merge, ANullRemovesAField) {
  Json base = {{"a", 1}, {"b", {{"c", 2}}}};
  merge_over(base, {{"a", nullptr}, {"b", {{"d", 3}}}});
  EXPECT_EQ(base, (Json{{"b", {{"c", 2}, {"d", 3}}}}));
}

TEST(Names, OfLongJobsFitIntoALabelAndDiffer) {
  const std::string one(80, 'a');
  const std::string two = std::string(79, 'a') + "b";
  EXPECT_LE(slot_name(one, kPool, 999).size(), 63U);
  EXPECT_NE(slot_name(one, kPool, 0), slot_name(two, kPool, 0));
}

TEST(Names, ALongNameIsNotCutAfterADotOrADash) {
  EXPECT_THAT(short_job_name(std::string(40, 'a') + "." + std::string(20, 'b')),
              StartsWith(std::string(40, 'a') + "-"));
  EXPECT_THAT(short_job_name(std::string(39, 'a') + "-." + std::string(20, 'b')),
              StartsWith(std::string(39, 'a') + "-" + short_hash(std::string(39, 'a') + "-." + std::string(20, 'b'))));
}

TEST(Placement, PutsBigGroupsWhereTheyFitAndKeepsPods) {
  const std::vector<UsableNode> nodes = {{"a", "ua", kPool, 1, "old-pod"}, {"b", "ub", kPool, 4, ""}};
  const Plan plan = plan_of({1, 4});
  const auto placement = place({"opt", plan, nodes, {}, {"old-pod"}});
  ASSERT_TRUE(placement.has_value());
  ASSERT_EQ(placement->slots.size(), 2U);
  EXPECT_EQ(placement->slots[0].pod, "old-pod");
  EXPECT_EQ(placement->slots[1].gpus, 4);
  EXPECT_EQ(placement->replicas[1].slot, 1);
}

TEST(Placement, PutsAllReplicasOfAPoolOnOneNodeIfTheyFit) {
  const std::vector<UsableNode> nodes = {
      {"a", "ua", kPool, 2, ""}, {"b", "ub", kPool, 4, ""}, {"c", "uc", kPool, 2, ""}};
  const Plan plan = plan_of({1, 1, 1, 1});
  const auto placement = place({"opt", plan, nodes, {}, {}});
  ASSERT_TRUE(placement.has_value());
  ASSERT_EQ(placement->slots.size(), 1U);
  EXPECT_EQ(placement->slots[0].node, "b");
}

TEST(Placement, SaysWhichGroupFindsNoRoom) {
  const std::vector<UsableNode> nodes = {{"a", "ua", kPool, 2, ""}, {"b", "ub", kPool, 2, ""}};
  const Plan plan = plan_of({4});
  EXPECT_NE(
      place({"opt", plan, nodes, {}, {}}).error().message.find("no node of us-central1-a/nvidia-l4/spot has 4 GPUs"),
      std::string::npos);
}

}  // namespace
}  // namespace sailor
