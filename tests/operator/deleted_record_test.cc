// A job whose record is deleted while its pods exist, as by `kubectl delete configmap`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/model/observation_queries.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

class DeletedRecord : public JobOnTwoNodes {
 protected:
  [[nodiscard]] std::vector<std::string> pod_uids() const {
    std::vector<std::string> uids;
    for (const Json& pod : world.api_server.all("pods")) uids.push_back(kube::uid_of(pod));
    return uids;
  }
};

TEST_F(DeletedRecord, PodsAreNotStaleWithoutARecord) {
  Observation observation;
  PodView pod;
  pod.created_for_generation = 1;
  observation.record.emplace().min_pod_generation = 2;
  ASSERT_TRUE(is_stale(observation, pod));
  observation.record.reset();  // its bytes stay in memory, so a function that reads them takes the pod for stale
  EXPECT_FALSE(is_stale(observation, pod));
  pod.is_ours = true;
  pod.node = "a";
  observation.pods = {pod};
  EXPECT_FALSE(is_occupied(observation, Slot{.node = "a"}));
}

TEST_F(DeletedRecord, JobIsPlannedAgainAndKeepsItsPods) {
  start();
  const std::vector<std::string> before = pod_uids();
  world.api_server.erase("/api/v1/namespaces/default/configmaps", record_name("job"));
  world.settle();
  EXPECT_EQ(pod_uids(), before);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_TRUE(record_of(world.api_server.find("configmaps", record_name("job"))).has_value());
}

}  // namespace
}  // namespace sailor::testing
