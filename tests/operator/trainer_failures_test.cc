// How failures of the trainer count against maxRestarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/reconcile/decide/failure_response.h"
#include "operator/reconcile/decide/plan_lookup.h"

namespace sailor {
namespace {

using ::testing::IsEmpty;

const PoolKey kPool{Zone("us-central1-a"), Accelerator("nvidia-tesla-t4"), Provisioning::kSpot};

Plan plan_of_one_replica(int tensor_parallel) { return {"tiny-gpt2", 1, 1, {{0, 1, {{kPool, tensor_parallel, 1}}}}}; }

// A job with a pod on each of two nodes. The trainer of the first pod has failed; the second pod answers.
class TrainerFailures : public ::testing::Test {
 protected:
  TrainerFailures() {
    observation.cluster = cluster;
    observation.now = *parse_rfc3339("2026-01-01T00:00:00Z");
    cluster->pools[kPool].key = kPool;
    GenerationRecord& record = observation.record.emplace();
    record.generation = 1;
    record.last_issued = 1;
    record.plan = plan_of_one_replica(1);
    for (const std::string name : {"failed", "remaining"}) add_pod(name);
    observation.pods[0].phase = PodPhase::kFailed;
    observation.pods[0].exit_code = 1;
    observation.pods[0].termination_message = "cannot read /data";
    observation.agents[observation.pods[1].uid].report.emplace();
  }

  void add_pod(const std::string& name) {
    NodeView node;
    node.name = node.uid = "node-of-" + name;
    node.pool = kPool;
    node.gpus = 1;
    node.is_ready = true;
    cluster->nodes.push_back(node);
    PodView pod;
    pod.name = pod.uid = name;
    pod.node = node.name;
    pod.phase = PodPhase::kRunning;
    pod.gpus = 1;
    pod.pool = kPool;
    pod.created_for_generation = 1;
    observation.pods.push_back(pod);
    observation.record->placement.slots.push_back({name, kPool, node.name, node.uid, 1});
    observation.record->members.push_back({{name, "10.0.0.1", 1, 2, kPool, 1}, name, node.name, node.uid});
  }

  // Answers the question that a plan for the remaining pod needs.
  void answer_with(const Plan& plan) {
    const NodeQuery query{NodeScope::kSurvivors, {"failed"}, false};
    const PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), observation.record->plan);
    ASSERT_TRUE(lookup.question.has_value());
    PlannedJob planned;
    planned.plan = plan;
    observation.answers.push_back({*lookup.question, planned, observation.now});
  }

  std::shared_ptr<ClusterView> cluster = std::make_shared<ClusterView>();
  Observation observation;
};

TEST_F(TrainerFailures, FailureCountsOnceIfTheRemainingPodsContinue) {
  answer_with(plan_of_one_replica(1));
  const auto result = respond_to_trainer_failure(observation);
  ASSERT_TRUE(result && result->record);
  EXPECT_EQ(result->record->restarts, 1);
  EXPECT_EQ(result->record->placement.slots.size(), 1U);
}

TEST_F(TrainerFailures, FailureCountsOnceIfTheirPlanCannotBePlaced) {
  answer_with(plan_of_one_replica(4));  // no node has four GPUs
  const auto result = respond_to_trainer_failure(observation);
  ASSERT_TRUE(result && result->record);
  EXPECT_EQ(result->record->restarts, 1);
  EXPECT_EQ(result->record->last_failure, "cannot read /data");
  EXPECT_EQ(result->record->placement.slots.size(), 2U) << "the failed pod is created again";
  EXPECT_THAT(result->record->quarantined_nodes, IsEmpty());
}

TEST_F(TrainerFailures, JobLooksForOtherGpusIfAnotherOneHasTakenItsOwn) {
  answer_with(plan_of_one_replica(4));
  cluster->nodes.change(cluster->nodes[0].name, [](NodeView& node) { node.used["another job"] = 1; });
  const auto result = respond_to_trainer_failure(observation);
  ASSERT_TRUE(result && result->record);
  EXPECT_EQ(result->record->restarts, 1);
  EXPECT_TRUE(result->record->releases_gpus) << "the failed pod would wait for a GPU that does not become free";
}

}  // namespace
}  // namespace sailor
