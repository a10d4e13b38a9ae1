// Pods as they are created, names, placement, records.
#include "operator/render/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/reconcile/decide/placement.h"
#include "operator/reconcile/observe/pod_view.h"
#include "operator/render/merge.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::Contains;
using ::testing::HasSubstr;

const PoolKey kPool{Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};

JobView job() {
  JobView view;
  view.key = {"default", "opt"};
  view.uid = "job-uid";
  return view;
}

Slot slot() { return {slot_name("opt", kPool, 0), kPool, "node-1", "node-uid", 2}; }

TEST(Pod, AsksForItsGpusAndIsPinnedToItsNodeAndPool) {
  const Json pod = render_pod(job(), slot(), 3, {"trainer:1", ""});
  EXPECT_EQ(gpus_of_pod(pod), 2);
  EXPECT_EQ(pod.at("/spec/nodeSelector/cloud.google.com~1gke-spot"_json_pointer), "true");
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

TEST(Pod, TellsItsWorkersHowLongSilenceMayLast) {
  OperatorSettings settings;
  settings.peer_timeout = std::chrono::seconds(7);
  const Json args = render_pod(job(), slot(), 1, settings)["spec"]["containers"][0]["args"];
  EXPECT_THAT(args.get<std::vector<std::string>>(), Contains("--peer-timeout=7"));
}

TEST(Pod, TakesTheTemplatesFieldsButNotItsIdentity) {
  JobView view = job();
  view.pod_template =
      Json::parse(R"({"metadata": {"name": "mine", "labels": {"team": "x", "sailor.dev/job-uid": "other"}},
    "spec": {"containers": [{"name": "trainer", "image": "own:2", "env": [{"name": "A", "value": "1"}]}, {"name": "side", "image": "s"}],
             "volumes": [{"name": "data", "emptyDir": {}}]}})");
  const Json pod = render_pod(view, slot(), 1, {"trainer:1", ""});
  EXPECT_EQ(pod["metadata"]["name"], slot().pod);
  EXPECT_EQ(pod["metadata"]["labels"]["team"], "x");
  EXPECT_EQ(kube::label_of(pod, kJobUidLabel), "job-uid");
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "own:2");
  EXPECT_EQ(pod["spec"]["containers"][0]["env"].size(), 3U) << "the template's variable is added to ours";
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

Plan plan_of(const std::vector<int>& tensor_parallel_sizes) {
  Plan plan{"tiny-gpt2", 8, 1, {{0, 6, {}}}};
  for (const int tensor_parallel : tensor_parallel_sizes)
    plan.stages[0].replicas.push_back({kPool, tensor_parallel, 1});
  return plan;
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

TEST(Record, ReadsBackAsWritten) {
  GenerationRecord record;
  record.job_uid = "u";
  record.generation = 4;
  record.plan = plan_of({1, 2});
  record.schedule_times = ScheduleTimes{{{{Nanoseconds(3), Nanoseconds(5), 0, 4}, {Nanoseconds(4), Nanoseconds(6)}}}};
  record.placement = {{slot()}, {{0, 0, 0, 0}, {0, 1, 0, 1}}};
  record.members = {{{"p", "10.0.0.1", 7070, 7071, kPool, 2}, "uid", "n", "nu", true}};
  record.decided_at = *parse_rfc3339("2026-01-01T00:00:00.125Z");
  record.quarantined_nodes = {{"x", record.decided_at, record.decided_at, std::chrono::seconds(60)}};
  record.unresponsive_at_step = 7;
  record.unreachable_pods = {"uid"};
  record.running = static_cast<const Generation&>(record);
  record.releases_gpus = true;
  EXPECT_EQ(record_of(config_map_of(record, {"default", "opt"}, "7")).value(), record);
}

TEST(Record, OfAnOlderOperatorHasNoTimes) {
  GenerationRecord record;
  record.plan = plan_of({1, 2});
  const Json json = to_json(record);
  EXPECT_FALSE(json.contains("scheduleTimes"));
  EXPECT_FALSE(record_from_json(json).value().schedule_times);
}

TEST(Record, WithTimesOfAnotherPlanIsDamaged) {
  GenerationRecord record;
  record.plan = plan_of({1, 2});
  record.schedule_times = ScheduleTimes{{{ReplicaTimes{}}}};
  EXPECT_THAT(record_from_json(to_json(record)).error().message,
              HasSubstr("record is damaged: scheduleTimes.replicas: 1 replicas in stage 0"));
}

// 256 nodes of 8 GPUs, every GPU a replica of its own with times of its own, which is more than any plan needs; kept
// twice while a change is made ready.
TEST(Record, OfTwoThousandGpusIsFarFromTheLimitOfAConfigMap) {
  constexpr int kGpus = 2048;
  constexpr int kStages = 32;
  constexpr std::size_t kLimit = 1 << 20;
  GenerationRecord record;
  record.plan = {"opt-30b", kGpus, 1, {}};
  ScheduleTimes& times = record.schedule_times.emplace();
  times.link_classes = 4;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    const int stage = gpu / (kGpus / kStages);
    if (gpu % (kGpus / kStages) == 0) {
      record.plan.stages.push_back({2 * stage, 2 * stage + 2, {}});
      times.replicas.emplace_back();
    }
    record.plan.stages.back().replicas.push_back({kPool, 1, kStages});
    times.replicas.back().push_back(
        {Nanoseconds(100'000'000 + gpu), Nanoseconds(200'000'000 + gpu), gpu % 4, 60, gpu / 8});
    record.placement.replicas.push_back({stage, gpu % (kGpus / kStages), gpu / 8, gpu % 8});
  }
  for (int stage = 0; stage + 1 < kStages; ++stage) {
    times.links.emplace_back(16, LinkTimes{Nanoseconds(20'000'000), Nanoseconds(30'000'000 + stage), Nanoseconds(1)});
  }
  for (int node = 0; node < kGpus / 8; ++node) {
    const std::string pod = slot_name("a-job-with-a-long-name", kPool, node);
    record.placement.slots.push_back(
        {pod, kPool, "gke-cluster-pool-0123456789", "01234567-0123-0123-0123-0123456789ab", 8});
    record.members.push_back({{pod, "10.100.100.100", 7070, 7071, kPool, 8},
                              record.placement.slots.back().node_uid,
                              record.placement.slots.back().node,
                              record.placement.slots.back().node_uid});
  }
  const std::size_t of_times = to_json(*record.schedule_times).dump().size();
  RecordProperty("bytes_of_times", std::to_string(of_times));
  EXPECT_LT(of_times, kLimit / 8);
  record.running = static_cast<const Generation&>(record);
  const Json map = config_map_of(record, {"default", "opt"}, "7");
  EXPECT_EQ(record_of(map).value(), record);
  std::size_t all = 0;
  for (const auto& [key, text] : map.at("data").items()) all += text.get<std::string>().size();
  RecordProperty("bytes", std::to_string(all));
  EXPECT_LT(all, kLimit / 2);
}

TEST(Record, OfAnOlderOperatorListsItsReplicasByName) {
  GenerationRecord record;
  record.plan = plan_of({1, 2});
  record.placement.replicas = {{0, 1, 2, 3}};
  Json json = to_json(record);
  json["replicas"][0] = {{"stage", 0}, {"replica", 1}, {"slot", 2}, {"firstGpu", 3}};
  EXPECT_EQ(record_from_json(json).value(), record);
}

TEST(Record, ThatIsDamagedSaysSo) {
  const Json map = {{"metadata", {{"name", "opt-plan"}}}, {"data", {{"record.json", "{]"}}}};
  EXPECT_NE(record_of(map).error().message.find("opt-plan"), std::string::npos);
}

}  // namespace
}  // namespace sailor
