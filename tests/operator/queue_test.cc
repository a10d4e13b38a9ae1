// Jobs in a queue of Kueue: they start with the GPUs that it gives, grow by more, and give them back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/node_labels.h"
#include "tests/operator/competing_jobs.h"
#include "tests/operator/fake_kueue.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class Queues : public ::testing::Test {
 protected:
  // Each node has two GPUs.
  void add_nodes(const std::vector<std::string>& names, const std::string& zone = "us-central1-a") {
    for (const std::string& name : names) world.add_node(name, 2, zone);
  }
  void add_job(const std::string& name, int min_gpus, std::optional<int> max_gpus = std::nullopt,
               const Json& labels = Json::object()) {
    world.job = {"default", name};
    Json spec = {{"resources", {{"minGpus", min_gpus}}}};
    if (max_gpus) spec["resources"]["maxGpus"] = *max_gpus;
    Json all = labels;
    all[kQueueLabel] = "team";
    world.add_job(spec, all);
  }
  // The operator and Kueue work until nothing changes.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      world.reconcile_all_jobs();
      world.live();
      kueue.admit();
    }
    world.settle_all_jobs();
  }
  void settle_later() {
    world.pass(std::chrono::seconds(15));
    settle();
  }
  World world;
  FakeKueue kueue{world};
};

TEST_F(Queues, JobWaitsUntilItsQueueGivesItGpus) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 0);
  add_job("job", 2);
  settle();
  EXPECT_EQ(world.state(), "Waiting");
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForQuota: Workload "));
  EXPECT_THAT(world.condition("Planned"),
              HasSubstr("waits in queue team for 2 to 4 GPUs. Kueue says: insufficient unused quota"));
  EXPECT_THAT(world.pods(), IsEmpty());
  kueue.set_quota("t4", 4);
  settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_EQ(kueue.condition(kueue.workload(0).name, "PodsReady"), "True Started");
}

TEST_F(Queues, JobUsesNoMoreGpusThanItsQueueGives) {
  add_nodes({"a", "b", "c", "d"});
  kueue.add_flavor("t4", 4);
  add_job("job", 2);
  settle();
  EXPECT_EQ(gpu_count(world.record().plan), 4);
}

TEST_F(Queues, JobGrowsByAFurtherWorkloadOnceThereIsQuota) {
  add_nodes({"a", "b", "c"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  settle_later();
  EXPECT_EQ(gpu_count(world.record().plan), 2);
  ASSERT_THAT(kueue.workloads(), SizeIs(2));
  EXPECT_EQ(kueue.workload(1).asked_gpus, 4);
  EXPECT_EQ(kueue.workload(1).least_gpus, 1);
  kueue.set_quota("t4", 6);
  settle_later();
  settle_later();
  EXPECT_EQ(gpu_count(world.record().plan), 6);
  EXPECT_EQ(kueue.used("t4"), 6);
  EXPECT_EQ(kueue.condition(kueue.workload(1).name, "PodsReady"), "True Started");
}

TEST_F(Queues, JobAsksForNoMoreThanTheBetterPlanNeeds) {
  add_nodes({"a"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  add_nodes({"b", "c"});
  Json cordoned = world.api_server.find("nodes", "c");
  cordoned["spec"]["unschedulable"] = true;
  world.api_server.put("/api/v1/nodes", cordoned);
  settle_later();
  settle_later();
  ASSERT_THAT(kueue.workloads(), SizeIs(2));
  EXPECT_EQ(kueue.workload(1).asked_gpus, 2) << "those of node b";
}

TEST_F(Queues, EvictionOfTheFurtherWorkloadShrinksTheJobWithoutAStop) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle_later();
  kueue.set_quota("t4", 4);
  settle_later();
  settle_later();
  ASSERT_EQ(gpu_count(world.record().plan), 4);
  const std::int64_t before = world.generation();
  kueue.set_quota("t4", 2);
  kueue.evict_beyond_quota();
  world.reconcile();
  EXPECT_EQ(kueue.used("t4"), 4) << "the job has them until its pods are gone";
  settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(gpu_count(world.record().plan), 2);
  EXPECT_EQ(world.generation(), before + 1);
  EXPECT_EQ(world.record().reason, Reason::kPreempted);
  EXPECT_THAT(world.record().message, HasSubstr("Preempted to accommodate another workload"));
  EXPECT_EQ(kueue.used("t4"), 2);
  EXPECT_THAT(world.pods(), SizeIs(1));
}

TEST_F(Queues, EvictionOfAllSavesTheStateAndTheJobGoesOnLater) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 4);
  add_job("job", 2);
  settle();
  ASSERT_EQ(world.state(), "Running");
  kueue.set_quota("t4", 0);
  kueue.evict_beyond_quota();
  settle();
  EXPECT_EQ(world.state(), "Waiting") << world.condition("Planned");
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForQuota"));
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_TRUE(world.record().releases_gpus);
  EXPECT_EQ(kueue.used("t4"), 0);
  ASSERT_THAT(kueue.workloads(), SizeIs(1));
  EXPECT_EQ(kueue.condition(kueue.workload(0).name, "Requeued"), "True Preempted");
  EXPECT_EQ(kueue.condition(kueue.workload(0).name, "Admitted"), "False NoReservation");
  EXPECT_EQ(kueue.condition(kueue.workload(0).name, "PodsReady"), "False WaitForStart");
  kueue.set_quota("t4", 4);
  settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(world.record().reason, Reason::kResumed);
}

// A pod keeps the GPUs that it was created with. The planner would take two of the three of node "x".
TEST_F(Queues, JobThatHasLostItsRecordAndItsPodsWaitsForQuota) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 4);
  add_job("job", 2);
  settle();
  kueue.set_quota("t4", 0);
  kueue.evict_beyond_quota();
  settle();
  world.lose_record();
  settle_later();
  EXPECT_EQ(world.state(), "Waiting");
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForQuota: Workload "));
  kueue.set_quota("t4", 4);
  settle_later();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(Queues, EvictedJobThatHasLostItsRecordSavesItsStateAndGivesItsGpusBack) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 4);
  add_job("job", 2);
  settle();
  world.lose_record();
  kueue.set_quota("t4", 0);
  kueue.evict_beyond_quota();
  settle();
  settle_later();
  EXPECT_EQ(world.state(), "Waiting");
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForQuota"));
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_EQ(kueue.used("t4"), 0);
  kueue.set_quota("t4", 4);
  settle_later();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(world.record().reason, Reason::kResumed);
}

TEST_F(Queues, PodWithMoreGpusThanTheQuotaIsNotKept) {
  world.add_node("y", 2, "us-central1-b");
  kueue.add_flavor("t4", 5);
  add_job("job", 2);
  settle();
  world.add_node("x", 3, "us-central1-a");
  settle_later();
  settle_later();
  ASSERT_EQ(gpu_count(world.record().plan), 5);
  ASSERT_EQ(kueue.workload(1).admitted_gpus, 3);
  kueue.set_quota("t4", 2);
  kueue.evict_beyond_quota();
  settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("y"));
  EXPECT_EQ(kueue.used("t4"), 2);
  const std::int64_t generation = world.generation();
  settle_later();
  EXPECT_EQ(world.generation(), generation) << "it does not try again and again";
}

TEST_F(Queues, JobThatWaitsHoldsNoPartOfWhatItNeeds) {
  for (const char* name : {"a", "b", "c", "d"}) world.add_node(name, 1);
  kueue.add_flavor("t4", 3);
  add_job("job", 3);
  settle();
  kueue.set_quota("t4", 4);
  settle_later();
  settle_later();
  ASSERT_THAT(kueue.workloads(), SizeIs(2));
  ASSERT_EQ(kueue.used("t4"), 4);
  kueue.set_quota("t4", 1);
  kueue.evict(kueue.workload(0).name);
  settle();
  EXPECT_EQ(world.state(), "Waiting");
  EXPECT_EQ(kueue.used("t4"), 0);
  ASSERT_THAT(kueue.workloads(), SizeIs(1));
  EXPECT_EQ(kueue.workload(0).least_gpus, 3);
  EXPECT_EQ(kueue.workload(0).asked_gpus, 4);
}

TEST_F(Queues, JobHasAtMostSixteenWorkloads) {
  for (char name = 'a'; name <= 't'; ++name) world.add_node(std::string(1, name), 1);
  add_job("job", 1);
  for (int quota = 1; quota <= 20; ++quota) {
    kueue.add_flavor("t4", quota);
    settle_later();
  }
  EXPECT_THAT(kueue.workloads(), SizeIs(16));
  EXPECT_EQ(gpu_count(world.record().plan), kueue.used("t4"));
}

TEST_F(Queues, QuotaIsGivenBackOnlyAfterThePodsAreGone) {
  add_nodes({"a"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  ASSERT_EQ(world.state(), "Running");
  world.api_server.dead_nodes = {"a"};  // no kubelet confirms the end of the pod
  kueue.evict(kueue.workload(0).name);
  settle();
  EXPECT_EQ(kueue.used("t4"), 2);
}

TEST_F(Queues, GpusThatThePlanDoesNotUseAreGivenBack) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 8);
  add_job("job", 2);
  settle();
  ASSERT_EQ(gpu_count(world.record().plan), 4);
  world.change_job([](Json& job) { job["spec"]["resources"]["maxGpus"] = 2; });
  settle_later();
  settle_later();
  EXPECT_EQ(gpu_count(world.record().plan), 2);
  EXPECT_EQ(kueue.used("t4"), 2);
}

TEST_F(Queues, QuotaStaysWithAJobThatWaitsForALostNode) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 8);
  add_job("job", 2);
  settle();
  world.remove_node("b");
  settle_later();
  settle_later();
  ASSERT_EQ(gpu_count(world.record().plan), 2);
  EXPECT_EQ(kueue.used("t4"), 4);
}

TEST_F(Queues, TwoFlavorsGiveAMixedPlanOfNoMoreThanTheirQuotas) {
  add_nodes({"a", "b", "c"}, "us-central1-a");
  add_nodes({"d", "e", "f"}, "us-central1-b");
  kueue.add_flavor("zone-a", 2, {{kZoneLabel, "us-central1-a"}});
  kueue.add_flavor("zone-b", 4, {{kZoneLabel, "us-central1-b"}});
  add_job("job", 1);
  for (int i = 0; i < 4; ++i) settle_later();
  EXPECT_EQ(gpu_count(world.record().plan), 6);
  const auto gpus = gpus_by_pool(world.record().plan);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(kueue.used("zone-a"), 2);
  EXPECT_EQ(kueue.used("zone-b"), 4);
  for (const auto& [pool, count] : gpus) EXPECT_EQ(count, pool.zone == Zone("us-central1-a") ? 2 : 4);
}

TEST_F(Queues, JobAsksForNoFlavorThatItMayNotUse) {
  add_nodes({"a"}, "us-central1-a");
  add_nodes({"b"}, "us-central1-b");
  kueue.add_flavor("zone-a", 2, {{kZoneLabel, "us-central1-a"}});
  kueue.add_flavor("zone-b", 2, {{kZoneLabel, "us-central1-b"}});
  add_job("job", 2);
  world.change_job([](Json& job) { job["spec"]["resources"]["zones"] = {"us-central1-b"}; });
  settle();
  EXPECT_EQ(world.state(), "Running") << world.condition("Planned");
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("b"));
}

TEST_F(Queues, SuspendedJobLeavesTheQueueAndComesBack) {
  add_nodes({"a"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  settle();
  EXPECT_EQ(world.state(), "Suspended");
  EXPECT_THAT(kueue.workloads(), IsEmpty());
  world.change_job([](Json& job) { job["spec"]["suspend"] = false; });
  settle();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(Queues, SuspendedJobKeepsItsQuotaUntilItsPodsAreGone) {
  add_nodes({"a"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  world.api_server.dead_nodes = {"a"};  // no kubelet confirms the end of the pod
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  settle();
  EXPECT_EQ(kueue.used("t4"), 2);
}

TEST_F(Queues, JobWhoseMinimumHasGrownTrainsOnUntilTheQueueGivesMore) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  const std::int64_t generation = world.generation();
  world.change_job([](Json& job) { job["spec"]["resources"]["minGpus"] = 4; });
  settle_later();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(world.generation(), generation);
  kueue.set_quota("t4", 4);
  settle_later();
  settle_later();
  EXPECT_EQ(gpu_count(world.record().plan), 4);
}

TEST_F(Queues, EndedJobFreesItsQuota) {
  add_nodes({"a"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  const std::string workload = kueue.workload(0).name;
  world.finish_pods();
  settle();
  EXPECT_EQ(world.state(), "Complete");
  EXPECT_EQ(kueue.condition(workload, "Finished"), "True Succeeded");
  EXPECT_EQ(kueue.condition(workload, "QuotaReserved"), "False Finished");
  EXPECT_EQ(kueue.used("t4"), 0);
}

TEST_F(Queues, JobThatLeavesItsQueueTrainsOn) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  settle();
  world.change_job([](Json& job) { job["metadata"]["labels"].erase(kQueueLabel); });
  settle_later();
  EXPECT_THAT(kueue.workloads(), IsEmpty());
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(gpu_count(world.record().plan), 4);
}

TEST_F(Queues, GpusWithoutAPlanAreGivenBackUntilTheSpecChanges) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 2);
  world.infeasible_jobs = {"job"};
  add_job("job", 1);
  settle();
  EXPECT_EQ(kueue.used("t4"), 2);
  world.pass(std::chrono::seconds(61));
  settle();
  ASSERT_THAT(kueue.workloads(), SizeIs(1));
  kueue.evict(kueue.workload(0).name, "Deactivated");  // as Kueue does with an inactive Workload
  settle();
  EXPECT_EQ(kueue.used("t4"), 0);
  EXPECT_THAT(world.condition("Planned"), StartsWith("False PlanInfeasible: There was no plan for the GPUs"));
  world.infeasible_jobs.clear();
  world.change_job([](Json& job) { job["spec"]["resources"]["minGpus"] = 2; });
  settle();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(Queues, PriorityInTheQueueIsThatOfItsClass) {
  world.add_priority_class("high", 1000);
  kueue.add_priority("urgent", 7);
  kueue.add_flavor("t4", 0);
  add_nodes({"a"});
  add_job("job", 2, std::nullopt, {{kQueuePriorityLabel, "urgent"}});
  settle();
  EXPECT_EQ(kube::integer_at(*kueue.workload(0).object, {"spec", "priority"}), 7);
  add_job("other", 2, std::nullopt, {{kQueuePriorityLabel, "unknown"}});
  settle();
  EXPECT_THAT(world.condition("Planned"), HasSubstr("WorkloadPriorityClass unknown"));
  EXPECT_THAT(kueue.workloads(), SizeIs(1));
}

TEST_F(Queues, JobKeepsToItsQuotaAfterItsPriorityClassIsGone) {
  kueue.add_priority("urgent", 7);
  kueue.add_flavor("t4", 2);
  add_nodes({"a", "b"});
  add_job("job", 2, std::nullopt, {{kQueuePriorityLabel, "urgent"}});
  settle();
  ASSERT_EQ(world.state(), "Running");
  world.api_server.erase("/apis/kueue.x-k8s.io/v1beta1/workloadpriorityclasses", "urgent");
  settle_later();
  EXPECT_EQ(gpu_count(world.record().plan), 2);
  kueue.evict(kueue.workload(0).name);
  settle();
  EXPECT_EQ(kueue.used("t4"), 2) << "the queue gives them again";
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(Queues, JobOfAQueueDoesNotStartIfTheOperatorDoesNotUseKueue) {
  world.settings.kueue_version.clear();
  world.restart_operator();
  add_nodes({"a"});
  add_job("job", 2);
  settle();
  EXPECT_EQ(world.state(), "Waiting");
  EXPECT_THAT(world.condition("Planned"), HasSubstr("kueue.enabled"));
}

TEST_F(Queues, AtRestNothingIsWritten) {
  add_nodes({"a", "b"});
  kueue.add_flavor("t4", 2);
  add_job("job", 2);
  add_job("waits", 2);
  settle_later();
  settle_later();
  const int before = world.api_server.writes;
  settle();
  EXPECT_EQ(world.api_server.writes, before);
}

TEST_F(Queues, OperatorMayDieBeforeAndAfterEachWrite) {
  for (int write = 0; write < 12; ++write) {
    for (const bool after_commit : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "write " << write << (after_commit ? " after" : " before") << " its commit");
      World fresh;
      FakeKueue queue{fresh};
      fresh.add_node("a", 2);
      queue.add_flavor("t4", 2);
      fresh.job = {"default", "job"};
      fresh.add_job({{"resources", {{"minGpus", 2}}}}, {{kQueueLabel, "team"}});
      fresh.settle_through_crash(write, after_commit);
      for (int i = 0; i < 10; ++i) {
        queue.admit();
        fresh.settle();
      }
      EXPECT_EQ(fresh.state(), "Running");
      EXPECT_THAT(queue.workloads(), SizeIs(1));
    }
  }
}

}  // namespace
}  // namespace sailor::testing
