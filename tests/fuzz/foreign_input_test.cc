// What others write is read or refused with a sentence, whatever it is: messages of agents and operators, objects of
// the API server, manifests and plans. The inputs are documents that are right, changed at random. A crash, an
// exception or an error of a sanitizer fails the test; so does a value that is not the same when it is written and read
// again.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/manifest/manifest.h"
#include "core/manifest/source.h"
#include "core/model/plan_json.h"
#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"
#include "core/protocol/claim.h"
#include "core/protocol/hint.h"
#include "core/protocol/lease.h"
#include "core/protocol/message.h"
#include "operator/kube/watch_event.h"
#include "operator/model/cluster_view.h"
#include "operator/model/gpu_claims.h"
#include "operator/model/record_object.h"
#include "operator/reconcile/observe/pod_view.h"
#include "tests/fuzz/mutations.h"
#include "tests/operator/small_plan.h"
#include "tests/support/builders.h"
#include "tests/support/seed.h"

namespace sailor {
namespace {

using testing::kPool;
using testing::mutated;
using testing::plan_of;

const JobKey kJob{"team", "opt"};

// A kind of input: documents that are right, and what reads one and checks the result.
struct Input {
  std::string name;
  std::vector<Json> documents;
  std::function<void(const std::string& text)> read;
};

void PrintTo(const Input& input, std::ostream* out) { *out << input.name; }

void expect_sentence(const Error& error) { EXPECT_NE(error.message, ""); }

template <class T>
void expect_same_when_read_again(const T& value, Result<T> (*from_json)(const nlohmann::json&)) {
  const auto again = read_message(write_message(to_json(value)), "it").and_then(from_json);
  if (!again) FAIL() << again.error().message << "\n" << to_json(value).dump();
  EXPECT_EQ(*again, value) << to_json(value).dump();
}

template <class T>
Input message(std::string name, const std::vector<T>& values, Result<T> (*from_json)(const nlohmann::json&)) {
  std::vector<Json> documents;
  for (const T& value : values) documents.push_back(to_json(value));
  const auto read = [from_json](const std::string& text) {
    const auto value = read_message(text, "a message").and_then(from_json);
    if (!value) return expect_sentence(value.error());
    expect_same_when_read_again(*value, from_json);
    if constexpr (std::is_same_v<T, Assignment>) {
      if (const auto checked = check_complete(*value); !checked) expect_sentence(checked.error());
    }
  };
  return {std::move(name), std::move(documents), read};
}

AgentReport report() {
  AgentReport report{
      "pod-0", true, {{0, WorkerPhase::kTraining, 3, 17, "trains"}, {1, WorkerPhase::kFailed, 3, 16, ""}}};
  report.workers.front().microbatch_seconds = 0.25;
  report.progress.emplace();
  report.progress->generation = 3;
  report.progress->validation_loss = 2.5;
  report.unresponsive_peers = {"pod-1"};
  report.pod_uid = "uid";
  return report;
}

Assignment assignment() {
  Assignment assignment;
  assignment.job = kJob;
  assignment.job_uid = "uid";
  assignment.generation = 3;
  assignment.model = find_model("tiny-gpt2").value();
  assignment.training = {.global_batch_size = 8, .sequence_length = 64, .microbatch_sizes = {1}, .steps = 10};
  assignment.data.path = "/data/*.txt";
  assignment.plan = plan_of({1, 2});
  for (Replica& replica : assignment.plan.stages[0].replicas) replica.microbatches = 4;
  assignment.agents = {{"pod-0", "127.0.0.2", 7070, 7071, kPool, 4}};
  assignment.workers = {{0, 0, Role{0, 0, 0}}, {0, 1, Role{0, 1, 0}}, {0, 2, Role{0, 1, 1}}, {0, 3, std::nullopt}};
  assignment.leave_by.emplace(std::chrono::milliseconds(1'795'404'237'123));
  return assignment;
}

GenerationRecord record() {
  GenerationRecord record;
  record.job_uid = "u";
  record.generation = record.last_issued = 4;
  record.plan = plan_of({1, 2});
  record.schedule_times = ScheduleTimes{{{{Nanoseconds(3), Nanoseconds(5), 0, 4}, {Nanoseconds(4), Nanoseconds(6)}}}};
  record.placement = {{{"p", kPool, "node-1", "node-uid", 4}}, {{0, 0, 0, 0}, {0, 1, 0, 1}}};
  record.members = {{{"p", "10.0.0.1", 7070, 7071, kPool, 4}, "uid", "n", "nu", false}};
  record.decided_at = parse_rfc3339("2026-01-01T00:00:00.125Z").value();
  record.quarantined_nodes = {{"x", record.decided_at, record.decided_at, std::chrono::seconds(60)}};
  record.pool_refusals = {{kPool, record.decided_at, record.decided_at + kFirstPauseOfPool, "sold out"}};
  record.slow_gpus = {{"x", 1, 2.5, record.decided_at, record.decided_at, std::chrono::seconds(30)}};
  record.older = {{3, true, false, record.members}};
  record.running = static_cast<const Generation&>(record);
  return record;
}

// What the operator does with a record that it has read.
void use(const GenerationRecord& record) {
  ClusterObjects objects;
  add_record(record, objects);
  if (record.members.empty()) return;
  static_cast<void>(assignment_of(record, testing::a_job(), "http://127.0.0.1:8082"));
}

Input records() {
  const auto read = [](const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    const auto record = record_of(json);
    if (!record) return expect_sentence(record.error());
    use(*record);
    const auto again = record_of(Json::parse(job_record_of(*record, kJob, "7").dump()));
    if (!again) FAIL() << again.error().message;
    EXPECT_EQ(*again, *record);
  };
  return {"Records", {job_record_of(record(), kJob, "7")}, read};
}

Json node() {
  return Json::parse(R"({"metadata": {"name": "node-1", "uid": "n", "resourceVersion": "5", "labels":
      {"cloud.google.com/gke-accelerator": "nvidia-l4", "cloud.google.com/gke-spot": "true",
       "topology.kubernetes.io/zone": "us-central1-a", "topology.kubernetes.io/region": "us-central1"}},
      "spec": {"unschedulable": false, "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
      "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "64"}, "conditions":
      [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}})");
}

Json pod() {
  return Json::parse(R"({"metadata": {"name": "opt-0", "namespace": "team", "uid": "p", "resourceVersion": "6",
      "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"sailor.dev/job": "opt"}, "annotations": {},
      "ownerReferences": [{"kind": "TrainingJob", "name": "opt", "uid": "u", "controller": true}]},
      "spec": {"nodeName": "node-1", "containers": [{"name": "trainer", "resources": {"limits": {"nvidia.com/gpu": 4}}}],
      "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
      [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]}}}},
      "status": {"phase": "Failed", "podIP": "10.0.0.1", "reason": "Evicted", "conditions":
      [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}], "containerStatuses":
      [{"name": "trainer", "state": {"terminated": {"exitCode": 1, "message": "{}"}}}]}})");
}

Json gpu_pool() {
  return Json::parse(R"({"metadata": {"name": "l4"}, "spec": {"region": "us-central1", "zone": "us-central1-a",
      "accelerator": "nvidia-l4", "provisioning": "Spot", "gpusPerNode": 8, "maxNodes": 4, "pricePerGpuHour": "0.3"}})");
}

Json event(const char* type, Json object) { return {{"type", type}, {"object", std::move(object)}}; }

// A line that is no event ends the watch by an exception, and the operator lists the objects again.
void read_watch_line(const std::string& line) {
  kube::WatchEvent event;
  try {
    event = kube::parse_watch_event(line);
  } catch (const nlohmann::json::exception&) {
    return;
  }
  const auto object = std::make_shared<const Json>(std::move(event.object));
  static_cast<void>(kube::key_of(*object));
  static_cast<void>(kube::version_of(*object));
  static_cast<void>(pod_view(*object, "u"));
  static const auto a_node = std::make_shared<const Json>(node());
  static const auto a_pod = std::make_shared<const Json>(pod());
  static const auto a_pool = std::make_shared<const Json>(gpu_pool());
  static_cast<void>(use_of_pools(cluster_view({.nodes = {object, a_node}, .gpu_pools = {a_pool}, .pods = {a_pod}})));
  static_cast<void>(use_of_pools(cluster_view({.nodes = {a_node}, .gpu_pools = {object}, .pods = {a_pod}})));
  static_cast<void>(use_of_pools(cluster_view({.nodes = {a_node}, .gpu_pools = {a_pool}, .pods = {object, a_pod}})));
}

Input watch_lines() {
  return {
      "WatchLines", {event("ADDED", node()), event("MODIFIED", pod()), event("DELETED", gpu_pool())}, read_watch_line};
}

template <class T>
void read_manifest(const Json& value, Result<T> (*from_manifest)(const Json&)) {
  const auto read = from_manifest(value);
  if (!read) expect_sentence(read.error());
}

Input manifests() {
  std::vector<Json> documents;
  for (const auto& entry : std::filesystem::directory_iterator("crds/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto read = read_documents(entry.path());
    for (const SourceDocument& document : read.value()) documents.push_back(document.value);
  }
  documents.push_back(gpu_pool());
  const auto read = [](const std::string& text) {
    const auto stream = parse_documents(text, "it");
    if (!stream) return expect_sentence(stream.error());
    for (const SourceDocument& document : *stream) {
      read_manifest(document.value, job_from_manifest);
      read_manifest(document.value, pool_from_manifest);
      read_manifest(document.value, profile_from_manifest);
      read_manifest(document.value, network_from_manifest);
      read_manifest(document.value, execution_from_manifest);
    }
  };
  return {"Manifests", std::move(documents), read};
}

Input plans() {
  Input input = message<Plan>("Plans", {plan_of({1, 2})}, plan_from_json);
  input.documents.push_back(to_compact_json(plan_of({1, 1, 1, 2})));
  const auto read = input.read;
  input.read = [read](const std::string& text) {
    read(text);
    const auto plan = read_message(text, "a plan").and_then(plan_from_json);
    if (!plan) return;
    if (const auto checked = check_well_formed(*plan, testing::a_job()); !checked) expect_sentence(checked.error());
  };
  return input;
}

std::vector<Input> inputs() {
  return {message<AgentReport>("Reports", {report()}, agent_report_from_json),
          message<Assignment>("Assignments", {assignment()}, assignment_from_json),
          message<FolderClaim>("Claims", {{kJob, "uid", "/checkpoints", 4, 3}}, folder_claim_from_json),
          message<Hint>("Hints", {{kJob, "uid", "pod-0", HintReason::kWorkerFailed, "it failed"}}, hint_from_json),
          message<LeaseQuestion>("LeaseQuestions", {{kJob, "uid", 3}}, lease_question_from_json),
          message<CallbackAddress>("CallbackAddresses", {{"http://10.0.0.1:8082"}}, callback_address_from_json),
          records(),
          watch_lines(),
          manifests(),
          plans()};
}

class ForeignInput : public ::testing::TestWithParam<Input> {
 protected:
  // Reads one document that is changed once or a few times. Most stay JSON, because whatever is not is refused at once.
  void read_another() {
    const Input& input = GetParam();
    Json document = input.documents[random_() % input.documents.size()];
    for (auto changes = 1 + random_() % 3; changes > 0; --changes) document = mutated(std::move(document), random_);
    std::string text = document.dump();
    if (random_() % 4 == 0) text = mutated(std::move(text), random_);
    try {
      input.read(text);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "an exception: " << error.what();
    }
    if (HasFailure()) FAIL() << "the input was " << text;
  }

 private:
  testing::Random random_{testing::test_seed()};
};

TEST(Assignments, AreRightBeforeTheyAreChanged) {
  EXPECT_EQ(assignment_from_json(to_json(assignment())).value_or(Assignment{}), assignment());
}

TEST_P(ForeignInput, IsReadOrRefused) {
  for (const Json& document : GetParam().documents) GetParam().read(document.dump());
  for (int i = 0; i < 2000 && !HasFatalFailure(); ++i) read_another();
}

TEST_P(ForeignInput, IsReadOrRefusedForAMinute) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::int64_t inputs = 0;
  for (; std::chrono::steady_clock::now() < end && !HasFatalFailure(); ++inputs) read_another();
  fmt::print("{} inputs\n", inputs);
}

INSTANTIATE_TEST_SUITE_P(Of, ForeignInput, ::testing::ValuesIn(inputs()),
                         [](const auto& input) { return input.param.name; });

}  // namespace
}  // namespace sailor
