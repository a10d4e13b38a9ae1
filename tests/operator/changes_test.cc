// Which changes of objects make the operator look at jobs.
#include "operator/model/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/gpu_claims.h"
#include "operator/model/names.h"
#include "operator/reconcile/work_queue.h"

namespace sailor {
namespace {

using kube::Json;
using std::chrono::milliseconds;

Json changed(Json object, const char* pointer, const Json& value) {
  object[Json::json_pointer(pointer)] = value;
  return object;
}

const Json kJobObject = Json::parse(R"({"metadata": {"name": "j", "uid": "u", "generation": 1, "resourceVersion": "1"},
    "spec": {"suspend": false}, "status": {"state": "Running", "progress": {"step": 1}}})");
const Json kNodeObject =
    Json::parse(R"({"metadata": {"name": "n", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}},
    "spec": {}, "status": {"allocatable": {"nvidia.com/gpu": "2"},
      "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}})");
const Json kPodObject = Json::parse(R"({"metadata": {"name": "p", "uid": "u"}, "status": {"phase": "Pending"},
    "spec": {"nodeName": "n", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}})");

TEST(Changes, ProgressOfAJobIsNoNews) {
  const Json later = changed(changed(kJobObject, "/status/progress/step", 2), "/metadata/resourceVersion", "2");
  EXPECT_FALSE(changes_job(&kJobObject, &later));
}

TEST(Changes, AnythingElseOfAJobIsNews) {
  for (const char* pointer :
       {"/spec/suspend", "/status/state", "/metadata/generation", "/metadata/deletionTimestamp"}) {
    const Json later = changed(kJobObject, pointer, "x");
    EXPECT_TRUE(changes_job(&kJobObject, &later)) << pointer;
  }
  EXPECT_TRUE(changes_job(nullptr, &kJobObject));
  EXPECT_TRUE(changes_job(&kJobObject, nullptr));
}

TEST(Changes, StatusOfAPoolIsNoNews) {
  const Json pool = Json::parse(R"({"metadata": {"name": "p", "uid": "u", "resourceVersion": "1"}, "spec": {}})");
  const Json later = changed(changed(pool, "/status/readyNodes", 1), "/metadata/resourceVersion", "2");
  EXPECT_FALSE(changes_pool(&pool, &later));
  const Json dearer = changed(pool, "/spec/pricePerGpuHour", "2");
  EXPECT_TRUE(changes_pool(&pool, &dearer));
  EXPECT_TRUE(changes_pool(nullptr, &pool));
  EXPECT_TRUE(changes_pool(&pool, nullptr));
}

TEST(Changes, HeartbeatOfANodeIsNoNews) {
  const Json later = changed(changed(kNodeObject, "/status/conditions/0/lastHeartbeatTime", "2026-01-01T00:05:00Z"),
                             "/metadata/resourceVersion", "2");
  EXPECT_FALSE(changes_capacity_of_node(&kNodeObject, &later));
}

TEST(Changes, NodeThatOffersMoreOrLessIsNews) {
  for (const char* pointer :
       {"/status/conditions/0/status", "/status/allocatable/nvidia.com~1gpu", "/spec/unschedulable",
        "/metadata/labels/a", "/metadata/uid", "/metadata/deletionTimestamp"}) {
    const Json later = changed(kNodeObject, pointer, "x");
    EXPECT_TRUE(changes_capacity_of_node(&kNodeObject, &later)) << pointer;
  }
}

TEST(Changes, PodIsNewsForOthersWhenItsGpusChange) {
  const Json running = changed(kPodObject, "/status/phase", "Running");
  const Json ended = changed(kPodObject, "/status/phase", "Succeeded");
  EXPECT_FALSE(changes_gpu_use(&kPodObject, &running));
  EXPECT_TRUE(changes_gpu_use(nullptr, &kPodObject));
  EXPECT_TRUE(frees_gpus(&running, &ended));
  EXPECT_TRUE(frees_gpus(&running, nullptr));
  EXPECT_FALSE(frees_gpus(nullptr, &running));
  EXPECT_FALSE(frees_gpus(&ended, nullptr)) << "it used none any more";
}

TEST(Changes, CapacityDoesNotConcernJobsThatHaveEndedOrAreSuspended) {
  EXPECT_TRUE(may_use_gpus(kJobObject));
  EXPECT_FALSE(may_use_gpus(changed(kJobObject, "/spec/suspend", true)));
  EXPECT_FALSE(may_use_gpus(changed(kJobObject, "/status/conditions",
                                    Json::array({{{"type", "Complete"}, {"status", "True"}, {"reason", "x"}}}))));
}

TEST(Changes, JobThatNoLongerCompetesConcernsOthers) {
  const auto because = [](const char* reason) {
    const Json planned = {{"type", "Planned"}, {"status", "False"}, {"reason", reason}};
    return changed(kJobObject, "/status/conditions", Json::array({planned}));
  };
  const Json undecided = because("Planning");
  const Json waits = because("WaitingForCapacity");
  const Json has_gpus = because("Planned");
  const Json suspended = changed(waits, "/spec/suspend", true);
  EXPECT_EQ(concerned_jobs(&undecided, &has_gpus), ConcernedJobs::kWaiting);
  EXPECT_EQ(concerned_jobs(&undecided, &waits), ConcernedJobs::kWaiting);
  EXPECT_EQ(concerned_jobs(&undecided, nullptr), ConcernedJobs::kWaiting);
  EXPECT_EQ(concerned_jobs(&waits, &has_gpus), ConcernedJobs::kAll);
  EXPECT_EQ(concerned_jobs(&waits, &suspended), ConcernedJobs::kAll);
  EXPECT_EQ(concerned_jobs(&waits, nullptr), ConcernedJobs::kAll);
  EXPECT_EQ(concerned_jobs(&waits, &undecided), ConcernedJobs::kNone);
  EXPECT_EQ(concerned_jobs(nullptr, &undecided), ConcernedJobs::kNone);
  EXPECT_EQ(concerned_jobs(&has_gpus, &waits), ConcernedJobs::kNone);
}

TEST(WorkQueueLanes, UrgentKeysAreTakenFirst) {
  WorkQueue queue;
  const JobKey routine{"default", "a"};
  const JobKey urgent{"default", "b"};
  queue.add(routine, Lane::kRoutine);
  queue.add(urgent);
  EXPECT_EQ(queue.take({}), urgent);
  EXPECT_EQ(queue.take({}), routine);
}

TEST(WorkQueueLanes, OneRoutineKeyIsTakenAfterFourUrgentOnes) {
  WorkQueue queue;
  const auto key = [](const std::string& lane, int i) { return JobKey{lane, std::to_string(i)}; };
  for (int i = 0; i < 10; ++i) queue.add(key("urgent", i));
  for (int i = 0; i < 3; ++i) queue.add(key("routine", i), Lane::kRoutine);
  std::string lanes;
  for (int i = 0; i < 13; ++i) lanes += queue.take({})->namespace_name.front();
  EXPECT_EQ(lanes, "uuuuruuuuruur");
}

TEST(WorkQueueLanes, RoutineKeyThatBecomesUrgentMovesUp) {
  WorkQueue queue;
  const JobKey first{"default", "a"};
  const JobKey second{"default", "b"};
  queue.add(first, Lane::kRoutine);
  queue.add(second, Lane::kRoutine);
  queue.add(second);
  EXPECT_EQ(queue.depth(), 2U);
  EXPECT_EQ(queue.take({}), second);
  EXPECT_EQ(queue.take({}), first);
}

TEST(WorkQueueLanes, RetryWaitsForAsLongAsTheServerAsks) {
  WorkQueue queue;
  const auto begin = std::chrono::steady_clock::now();
  queue.retry({"default", "a"}, milliseconds(100));
  EXPECT_TRUE(queue.take({}).has_value());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(100));
}

}  // namespace
}  // namespace sailor
