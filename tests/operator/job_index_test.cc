// The jobs that an event concerns.
#include "operator/reconcile/observe/job_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/manifest.h"
#include "operator/model/conditions.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const PoolKey kT4Pool{Zone("us-central1-a"), Accelerator("nvidia-tesla-t4"), Provisioning::kSpot};
const PoolKey kL4Pool{Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};

class IndexOfJobs : public ::testing::Test {
 protected:
  static Json job(const std::string& name, const Json& resources) {
    return {{"apiVersion", "sailor.dev/v1alpha1"},
            {"kind", "TrainingJob"},
            {"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}, {"generation", 1}}},
            {"spec",
             {{"model", {{"name", "tiny-gpt2"}}},
              {"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 100}}},
              {"data", {{"format", "Bytes"}, {"path", "/data/*"}}},
              {"resources", resources}}}};
  }
  static Json waiting(Json job) {
    job["status"]["conditions"] = Json::array(
        {{{"type", "Planned"}, {"status", "False"}, {"reason", "WaitingForCapacity"}, {"message", "no GPU is free"}}});
    return job;
  }
  void put(Json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    store_.put(std::move(object));
  }
  static JobKey key(const char* name) { return {"default", name}; }

  kube::Store store_;
  std::vector<std::string> read_;  // the names of the jobs whose specs were read
  JobIndex index_{store_, [this](const Json& object) {
                    read_.push_back(kube::name_of(object));
                    return job_from_manifest(object);
                  }};

 private:
  long version_ = 0;
};

const Json kOnlyT4 = {{"accelerators", {"nvidia-tesla-t4"}}};
const Json kOnlyL4 = {{"accelerators", {"nvidia-l4"}}};
const Json kAny = Json::object();

TEST_F(IndexOfJobs, NodeConcernsTheJobsThatMayUseItsPool) {
  put(job("any", kAny));
  put(job("l4", kOnlyL4));
  put(job("t4", kOnlyT4));
  EXPECT_THAT(index_.those_that_may_use(kT4Pool), ElementsAre(key("any"), key("t4")));
  EXPECT_THAT(index_.those_that_may_use(kL4Pool), ElementsAre(key("any"), key("l4")));
}

TEST_F(IndexOfJobs, JobConcernsThoseThatMayUseTheSamePools) {
  const Json t4 = job("t4", kOnlyT4);
  put(waiting(job("any", kAny)));
  put(waiting(job("l4", kOnlyL4)));
  put(job("other-t4", kOnlyT4));
  put(t4);
  EXPECT_THAT(index_.those_that_compete_with(t4), ElementsAre(key("any"), key("other-t4"), key("t4")));
  EXPECT_THAT(index_.those_that_wait_beside(t4), ElementsAre(key("any")));
}

TEST_F(IndexOfJobs, JobThatMayNotUseGpusIsNotInIt) {
  put(job("a", kAny));
  EXPECT_TRUE(index_.find(key("a")).has_value());
  Json suspended = job("a", kAny);
  suspended["spec"]["suspend"] = true;
  put(suspended);
  EXPECT_FALSE(index_.find(key("a")).has_value());
  EXPECT_THAT(index_.those_that_may_use(kT4Pool), IsEmpty());
  put(job("a", kAny));
  EXPECT_THAT(index_.all(), ElementsAre(key("a")));
  store_.erase(job("a", kAny));
  EXPECT_THAT(index_.all(), IsEmpty());
}

TEST_F(IndexOfJobs, OnlyChangedSpecsAreReadAgain) {
  put(job("a", kAny));
  put(job("b", kAny));
  EXPECT_THAT(read_, ElementsAre("a", "b"));
  put(waiting(job("b", kAny)));
  EXPECT_THAT(read_, ElementsAre("a", "b"));
  EXPECT_EQ(index_.find(key("b"))->state, RivalState::kWaits);
  Json changed = job("b", kOnlyT4);
  changed["metadata"]["generation"] = 2;
  put(changed);
  EXPECT_THAT(read_, ElementsAre("a", "b", "b"));
  EXPECT_THAT(index_.those_that_may_use(kL4Pool), ElementsAre(key("a")));
}

TEST_F(IndexOfJobs, SpecIsReadOnceForAllWhoAskForIt) {
  Json object = job("a", kOnlyT4);
  put(object);
  EXPECT_THAT(index_.spec_of(object)->resources.accelerators, ElementsAre(Accelerator("nvidia-tesla-t4")));
  EXPECT_THAT(index_.those_that_compete_with(object), ElementsAre(key("a")));
  EXPECT_THAT(read_, ElementsAre("a"));
  object["metadata"]["generation"] = 2;  // the index does not have it yet
  object["spec"]["resources"] = kOnlyL4;
  EXPECT_THAT(index_.spec_of(object)->resources.accelerators, ElementsAre(Accelerator("nvidia-l4")));
  object["spec"]["suspend"] = true;
  put(object);
  EXPECT_TRUE(index_.spec_of(object)->suspend) << "such a job may not use GPUs, so the index does not have it";
}

TEST_F(IndexOfJobs, EqualDemandsAreOneObject) {
  put(job("a", kOnlyT4));
  put(job("b", kOnlyT4));
  put(job("c", kOnlyL4));
  EXPECT_EQ(index_.find(key("a"))->demand, index_.find(key("b"))->demand);
  EXPECT_NE(index_.find(key("a"))->demand, index_.find(key("c"))->demand);
}

TEST_F(IndexOfJobs, JobThatCannotBeReadOrIsOfAnotherControllerConcernsNobody) {
  put(job("broken", {{"minGpus", -1}}));
  Json foreign = job("foreign", kAny);
  foreign["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
  put(foreign);
  EXPECT_THAT(index_.those_that_may_use(kT4Pool), IsEmpty());
  EXPECT_EQ(index_.find(key("broken"))->state, RivalState::kHolds);
}

}  // namespace
}  // namespace sailor
