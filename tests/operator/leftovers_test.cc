// What a deleted job leaves: its pods, which use GPUs until somebody deletes them, and with `kubectl delete
// --cascade=orphan` also a JobRecord and a ConfigMap that nothing owns.
#include "operator/reconcile/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class DeletedJob : public JobOnTwoNodes {
 protected:
  void SetUp() override { start(); }

  // What an operator removes that knows the pods, but no job yet.
  std::vector<std::string> remove_with_a_cache_of_pods() {
    kube::Api api(world.api_server);
    Caches behind;
    for (Json& pod : world.api_server.all("pods")) behind.pods.put(std::move(pod));
    return Leftovers(api, behind).remove(world.job).value();
  }
};

TEST_F(DeletedJob, LeavesNoPodAndNoRecordThatNothingOwns) {
  world.disown();
  world.delete_job();
  world.reconcile();
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_THAT(world.api_server.all("jobrecords"), IsEmpty());
}

TEST_F(DeletedJob, MakesRoomForOneOfTheSameName) {
  world.disown();
  world.delete_job();
  world.add_job();
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.condition("Planned"), Not(HasSubstr("ConfigMap")));
}

TEST_F(DeletedJob, GivesItsGpusBackBeforeTheGarbageCollectorReachesItsPods) {
  world.delete_job();
  world.reconcile();
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_THAT(world.api_server.all("jobrecords"), SizeIs(1)) << "the garbage collector deletes it";
}

TEST_F(DeletedJob, GivesItsGpusBackToOneOfTheSameName) {
  world.delete_job();
  world.add_job();
  world.reconcile();
  EXPECT_THAT(world.pods(), IsEmpty());
}

TEST_F(DeletedJob, KeepsItsPodsWhileTheApiServerHasIt) {
  EXPECT_THAT(remove_with_a_cache_of_pods(), IsEmpty());
  EXPECT_THAT(world.pods(), SizeIs(2));
}

TEST_F(DeletedJob, IsKnownByItsUidAndNotByTheCache) {
  world.disown();
  world.reconcile();
  EXPECT_THAT(world.pods(), SizeIs(2)) << "the job still exists";
}

TEST_F(DeletedJob, IsAskedForOnlyIfTheCacheDoesNotKnowIt) {
  world.disown();
  world.api_server.requests.clear();
  world.reconcile();
  EXPECT_THAT(world.api_server.requests, Not(Contains(HasSubstr("GET"))));
  EXPECT_THAT(remove_with_a_cache_of_pods(), IsEmpty());
  EXPECT_THAT(world.api_server.requests, Contains(HasSubstr("GET")));
  EXPECT_THAT(world.pods(), SizeIs(2)) << "the job still exists";
}

TEST_F(DeletedJob, TakesNoPodOfSomebodyElseWithIt) {
  Json pod = world.api_server.find("pods", world.pod_on("a"));
  pod["metadata"] = {
      {"name", "foreign"}, {"namespace", "default"}, {"uid", "foreign"}, {"labels", {{kJobNameLabel, world.job.name}}}};
  world.api_server.put("/api/v1/namespaces/default/pods", pod);
  world.disown();
  world.delete_job();
  world.reconcile();
  EXPECT_THAT(world.pods(), SizeIs(1));
}

TEST_F(DeletedJob, LeavesNothingWhereverTheOperatorDies) {
  for (const bool after_commit : {false, true}) {
    for (int write = 0; write < 4; ++write) {
      World here;
      here.add_node("a", 2);
      here.add_job();
      here.settle();
      here.disown();
      here.delete_job();
      here.settle_through_crash(write, after_commit);
      EXPECT_THAT(here.pods(), IsEmpty());
      EXPECT_THAT(here.api_server.all("jobrecords"), IsEmpty());
    }
  }
}

}  // namespace
}  // namespace sailor::testing
