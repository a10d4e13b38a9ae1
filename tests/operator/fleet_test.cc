// The part of an observation that all jobs share. World compares it with what all objects say after each change; here
// is how little of them it reads, and that nobody's view changes under him.
#include "operator/reconcile/observe/fleet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/manifest.h"
#include "operator/model/names.h"
#include "operator/model/node_labels.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::ElementsAre;

class FleetOfJobs : public ::testing::Test {
 protected:
  FleetOfJobs() {
    for (const char* name : {"a", "b"}) put_node(name, 2);
    for (const char* name : {"first", "second"}) put_job(name, 1);
  }
  void put_node(const std::string& name, int gpus) {
    caches.nodes.put(
        {{"metadata",
          {{"name", name},
           {"uid", "uid-" + name},
           {"resourceVersion", std::to_string(++version)},
           {"labels",
            {{kGkeAcceleratorLabel, "nvidia-tesla-t4"}, {kZoneLabel, "us-central1-a"}, {kGkeSpotLabel, "true"}}}}},
         {"status", {{"allocatable", {{kGpuResource, std::to_string(gpus)}}}}}});
  }
  void put_job(const std::string& name, int generation) {
    caches.jobs.put({{"apiVersion", "sailor.dev/v1alpha1"},
                     {"kind", "TrainingJob"},
                     {"metadata",
                      {{"name", name},
                       {"namespace", "default"},
                       {"uid", "uid-" + name},
                       {"generation", generation},
                       {"resourceVersion", std::to_string(++version)}}},
                     {"spec", {{"model", {{"name", "tiny-gpt2"}}}}}});
  }
  void put_pod(const std::string& name, const std::string& node, int gpus) {
    const Json container = {{"resources", {{"limits", {{kGpuResource, gpus}}}}}};
    caches.foreign_pods.put({{"metadata",
                              {{"name", name},
                               {"namespace", "other"},
                               {"uid", "uid-" + name},
                               {"resourceVersion", std::to_string(++version)}}},
                             {"spec", {{"nodeName", node}, {"containers", Json::array({container})}}},
                             {"status", {{"phase", "Running"}}}});
  }
  FleetSnapshot look() { return fleet.look(Time(), MonotonicTime()); }

  Caches caches;
  long version = 0;
  JobIndex jobs{caches.jobs, job_from_manifest};
  Fleet fleet{caches,
              jobs,
              {.record =
                   [](const JobKey&, const std::string&) {
                     return Result<GenerationRecord>(fail(ErrorCode::kNotFound, "there is no record"));
                   },
               .priority = [](const Json&) { return JobPriority(); },
               .least_capability = {}}};
};

TEST_F(FleetOfJobs, ViewOfAnObservationStaysAsItIs) {
  const FleetSnapshot before = look();
  EXPECT_EQ(before.cluster->find_node("a")->used_gpus(), 0);
  put_pod("pod", "a", 2);
  const FleetSnapshot after = look();
  EXPECT_EQ(after.cluster->find_node("a")->used_gpus(), 2);
  EXPECT_EQ(before.cluster->find_node("a")->used_gpus(), 0);
}

TEST_F(FleetOfJobs, ViewIsTheSameWhileNothingChanges) {
  const FleetSnapshot before = look();
  EXPECT_EQ(look().cluster, before.cluster);
  EXPECT_EQ(look().rivals, before.rivals);
}

TEST_F(FleetOfJobs, ViewIsTheSameIfOnlyTheStatusOfAPoolChanges) {
  Json pool = {{"metadata", {{"name", "t4"}, {"uid", "uid-t4"}, {"resourceVersion", "1001"}}},
               {"spec",
                {{"region", "us-central1"},
                 {"zone", "us-central1-a"},
                 {"accelerator", "nvidia-tesla-t4"},
                 {"provisioning", "Spot"},
                 {"gpusPerNode", 2}}}};
  caches.pools.put(pool);
  const FleetSnapshot before = look();
  pool["metadata"]["resourceVersion"] = "1002";
  pool["status"] = {{"readyNodes", 2}};
  caches.pools.put(pool);
  EXPECT_EQ(look().cluster, before.cluster);
  pool["metadata"]["resourceVersion"] = "1003";
  pool["spec"]["maxNodes"] = 5;
  caches.pools.put(pool);
  EXPECT_NE(look().cluster, before.cluster);
}

TEST_F(FleetOfJobs, NodeThatHasChangedKeepsTheUseOfItsGpus) {
  put_pod("pod", "a", 1);
  static_cast<void>(look());
  put_node("a", 2);
  EXPECT_EQ(look().cluster->find_node("a")->used_gpus(), 1);
  put_node("a", 4);
  EXPECT_EQ(look().cluster->find_node("a")->gpus_left_to("a job"), 3);
}

TEST_F(FleetOfJobs, NodeThatIsGoneIsInNoView) {
  static_cast<void>(look());
  caches.nodes.erase(*caches.nodes.find({"", "a"}));
  const auto cluster = look().cluster;
  EXPECT_EQ(cluster->find_node("a"), nullptr);
  EXPECT_THAT(cluster->node_uids.all(), ElementsAre("uid-b"));
}

}  // namespace
}  // namespace sailor
