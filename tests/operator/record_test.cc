// A job's record: it is read back as it was written, and a record that cannot be right is refused.
#include "operator/model/record.h"

#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/model/record_object.h"
#include "tests/operator/small_plan.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::HasSubstr;
using testing::kPool;
using testing::plan_of;

const JobKey kJob{"default", "opt"};

GenerationRecord valid_record() {
  GenerationRecord record;
  record.job_uid = "u";
  record.generation = record.last_issued = 4;
  record.plan = plan_of({1, 2});
  record.placement = {{{"p", kPool, "node-1", "node-uid", 4}}, {{0, 0, 0, 0}, {0, 1, 0, 1}}};
  record.members = {{{"p", "10.0.0.1", 7070, 7071, kPool, 2}, "uid", "n", "nu", false}};
  return record;
}

TrainingSpec small_training() {
  TrainingSpec training;
  training.global_batch_size = 12;
  training.sequence_length = 128;
  training.microbatch_sizes = {1, 2, 4};
  training.optimizer.learning_rate = 3e-4;
  training.steps = 5;
  training.evaluation = EvaluationSpec{.every_steps = 7, .batches = 2};
  return training;
}

GenerationRecord stored_and_read(const GenerationRecord& record) {
  return record_of(Json::parse(job_record_of(record, kJob, "7").dump())).value();
}

TEST(Record, ReadsBackAsWritten) {
  GenerationRecord record;
  record.job_uid = "u";
  record.generation = 4;
  record.plan = plan_of({1, 2});
  record.schedule_times = ScheduleTimes{{{{Nanoseconds(3), Nanoseconds(5), 0, 4}, {Nanoseconds(4), Nanoseconds(6)}}}};
  record.summary = {
      .iteration_seconds = 2, .tokens_per_second = 1000, .alternatives = {{2.5, 0.0015, 1}, {3, 0.001, 1}}};
  record.placement = {{{"p", kPool, "node-1", "node-uid", 4}}, {{0, 0, 0, 0}, {0, 1, 0, 1}}};
  record.members = {{{"p", "10.0.0.1", 7070, 7071, kPool, 2}, "uid", "n", "nu", true}};
  record.decided_at = *parse_rfc3339("2026-01-01T00:00:00.125Z");
  record.quarantined_nodes = {{"x", record.decided_at, record.decided_at, std::chrono::seconds(60)}};
  record.slow_gpus = {{"x", 1, 2.5, record.decided_at, record.decided_at, std::chrono::seconds(30), 0.25}};
  record.pool_refusals = {{kPool, record.decided_at, record.decided_at + kFirstPauseOfPool, "sold out"}};
  record.unresponsive_at_step = 7;
  record.settings.emplace();
  record.settings->training = small_training();
  record.settings->checkpoint = {.path = "/c", .every_steps = 7, .keep = 2};
  record.settings->streaming_slowdown_percent = 25;
  record.unreachable_pods = {"uid"};
  record.running = static_cast<const Generation&>(record);
  record.releases_gpus = true;
  EXPECT_EQ(stored_and_read(record), record);
}

TEST(Record, OfAnOlderOperatorTellsTheWorkersWhatTheSpecSays) {
  GenerationRecord record = valid_record();
  JobSpec job;
  job.training = small_training();
  EXPECT_EQ(assignment_of(stored_and_read(record), job, "").training, job.training);
  record.settings = run_settings_of(job);
  record.settings->training.steps += 1;
  EXPECT_EQ(assignment_of(stored_and_read(record), job, "").training.steps, job.training.steps + 1);
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
TEST(Record, OfTwoThousandGpusIsFarFromTheLimitOfAnObject) {
  constexpr int kGpus = 2048;
  constexpr int kStages = 32;
  constexpr std::size_t kLimit = 3 << 19;  // etcd stores at most 1.5 MiB
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
  EXPECT_EQ(stored_and_read(record), record);
  const std::size_t all = job_record_of(record, kJob, "7").dump().size();
  RecordProperty("bytes", std::to_string(all));
  EXPECT_LT(all, kLimit / 2);
}

TEST(Record, OfAnOlderOperatorListsItsReplicasByName) {
  GenerationRecord record = valid_record();
  record.placement.replicas = {{0, 1, 0, 1}};
  Json json = to_json(record);
  json["replicas"][0] = {{"stage", 0}, {"replica", 1}, {"slot", 0}, {"firstGpu", 1}};
  EXPECT_EQ(record_from_json(json).value(), record);
}

TEST(Record, OfAnOlderOperatorIsReadFromItsConfigMapOnce) {
  const GenerationRecord record = valid_record();
  Json map = plan_map_of(record, kJob);
  EXPECT_FALSE(record_of_older_operator(map)) << "the operator reads nothing back from what it publishes";
  map["data"]["record.json"] = to_json(record).dump();
  EXPECT_EQ(record_of_older_operator(map).value().value(), record);
  map["data"]["record.json"] = "{]";
  EXPECT_THAT(record_of_older_operator(map).value().error().message, HasSubstr("opt-plan"));
}

TEST(Record, ThatIsDamagedSaysSoAndWhatToDo) {
  const Json object = {{"metadata", {{"name", "opt"}}}, {"spec", {{"generation", "four"}}}};
  EXPECT_THAT(record_of(object).error().message, HasSubstr("JobRecord opt; delete it"));
}

// Each entry makes a valid record invalid. Whoever may write a JobRecord must not be able to exhaust the operator.
TEST(Record, IsCheckedLikeAnyInput) {
  using Change = void (*)(GenerationRecord&);
  const std::pair<Change, const char*> cases[] = {
      {[](GenerationRecord& r) { r.members[0].address.gpus = 2'000'000'000; }, "member p with 2000000000 GPUs"},
      {[](GenerationRecord& r) { r.members.assign(20001, r.members[0]); }, "20001 members"},
      {[](GenerationRecord& r) { r.members[0].address.port = 70000; }, "ports 70000"},
      {[](GenerationRecord& r) { r.placement.slots[0].gpus = 5000; }, "slot p with 5000 GPUs"},
      {[](GenerationRecord& r) { r.placement.slots.assign(20001, r.placement.slots[0]); }, "20001 slots"},
      {[](GenerationRecord& r) { r.placement.replicas[0].stage = 7; }, "stage 7"},
      {[](GenerationRecord& r) { r.placement.replicas[0].replica = -1; }, "replica -1 of stage 0"},
      {[](GenerationRecord& r) { r.placement.replicas[0].slot = 1; }, "slot 1"},
      {[](GenerationRecord& r) { r.placement.replicas[1].first_gpu = 3; }, "2 GPUs from GPU 3 of 4"},
      {[](GenerationRecord& r) { r.plan.stages[0].replicas[0].tensor_parallel = -1; }, "tensorParallel: -1 is below 1"},
      {[](GenerationRecord& r) { r.placement.slots.push_back(r.placement.slots[0]); }, "1 members for 2 slots"},
      {[](GenerationRecord& r) { r.rendezvous = 1; }, "rendezvous at member 1"},
      {[](GenerationRecord& r) { r.generation = std::numeric_limits<std::int64_t>::max(); }, "generation 92233"},
      {[](GenerationRecord& r) { r.last_issued = -1; }, "lastIssued -1"},
      {[](GenerationRecord& r) {
         r.older = {{3, false, false, {}}};
       },
       "older generation 3 without members"},
      {[](GenerationRecord& r) { r.running.emplace(r).generation = -2; }, "generation -2"},
  };
  for (const auto& [change, expected] : cases) {
    GenerationRecord record = valid_record();
    change(record);
    const auto read = record_of(job_record_of(record, kJob, ""));
    ASSERT_FALSE(read) << expected;
    EXPECT_THAT(read.error().message, HasSubstr(expected));
  }
}

}  // namespace
}  // namespace sailor
