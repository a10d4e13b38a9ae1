#include "core/model/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/model/plan_hash.h"
#include "core/model/plan_json.h"

namespace sailor {
namespace {

PoolKey key(const char* zone) { return {Zone(zone), Accelerator("nvidia-tesla-a100"), Provisioning::kSpot}; }

JobSpec job() {
  JobSpec spec;
  spec.model = find_model("tiny-gpt2").value();
  spec.training.global_batch_size = 16;
  return spec;
}

Plan plan() {
  const Replica fast{key("us-central1-a"), 2, 5};
  const Replica slow{key("us-central1-a"), 1, 3};
  const Replica other{key("us-west1-b"), 4, 8};
  return {.model = "tiny-gpt2",
          .global_batch_size = 16,
          .microbatch_size = 2,
          .stages = {{0, 2, {fast, slow}}, {2, 6, {other}}}};
}

ClusterState cluster() {
  return normalized(
      {{{.key = key("us-central1-a"), .region = Region("us-central1"), .gpus_per_node = 2, .nodes = {{2, 2}}},
        {.key = key("us-west1-b"), .region = Region("us-west1"), .gpus_per_node = 4, .nodes = {{4, 1}}}}});
}

TEST(Plan, ReadsBackAsWritten) { EXPECT_EQ(plan_from_json(to_json(plan())).value(), plan()); }

TEST(Plan, CompactJsonListsEqualNeighboursOnceAndIsReadBackAsWritten) {
  Plan wide = plan();
  auto& replicas = wide.stages[0].replicas;
  replicas = {replicas[0], replicas[0], replicas[0], replicas[1], replicas[0]};
  const Json json = to_compact_json(wide);
  EXPECT_EQ(json["stages"][0]["replicas"].size(), 3U);
  EXPECT_EQ(json["stages"][0]["replicas"][0]["count"], 3);
  EXPECT_EQ(plan_from_json(json).value(), wide);
}

TEST(Plan, TooManyReplicasAreRefused) {
  for (const int count : {0, -1, 65537}) {
    Json json = to_json(plan());
    json["stages"][0]["replicas"][0]["count"] = count;
    EXPECT_EQ(plan_from_json(json).error().message,
              fmt::format("plan.stages[0].replicas[0].count: {} is not between 1 and 65536", count));
  }
  Json json = to_json(plan());
  json["stages"][0]["replicas"][0]["count"] = 65536;
  EXPECT_EQ(plan_from_json(json).error().message, "plan.stages[0].replicas: a stage has at most 65536 replicas");
}

TEST(Plan, EqualPlansHaveEqualHashesAndAnyChangeGivesAnotherHash) {
  EXPECT_EQ(plan_hash(plan()), plan_hash(plan()));
  Plan other = plan();
  other.stages[0].replicas[0].microbatches = 6;
  EXPECT_NE(plan_hash(other), plan_hash(plan()));
}

TEST(Plan, OptionsAreWrittenOnlyIfTheyAreOn) {
  EXPECT_FALSE(to_json(plan()).contains("activationCheckpointing"));
  EXPECT_FALSE(to_json(plan()).contains("shardedOptimizer"));
  EXPECT_FALSE(to_json(plan()).contains("sequenceParallelism"));
  Plan other = plan();
  other.activation_checkpointing = other.sharded_optimizer = other.sequence_parallelism = true;
  EXPECT_EQ(plan_from_json(to_json(other)).value(), other);
  EXPECT_NE(plan_hash(other), plan_hash(plan()));
}

TEST(Plan, RecomputationMustAgreeWithTheJob) {
  JobSpec wishing = job();
  const auto is_accepted = [&](ActivationCheckpointing wish, bool recomputes) {
    wishing.training.activation_checkpointing = wish;
    Plan one = plan();
    one.activation_checkpointing = recomputes;
    return check_well_formed(one, wishing).has_value();
  };
  EXPECT_TRUE(is_accepted(ActivationCheckpointing::kAuto, true));
  EXPECT_TRUE(is_accepted(ActivationCheckpointing::kAuto, false));
  EXPECT_TRUE(is_accepted(ActivationCheckpointing::kAlways, true));
  EXPECT_FALSE(is_accepted(ActivationCheckpointing::kAlways, false));
  EXPECT_FALSE(is_accepted(ActivationCheckpointing::kNever, true));
}

TEST(Plan, SequenceParallelismMustAgreeWithTheJob) {
  JobSpec wishing = job();
  Plan one = plan();
  one.sequence_parallelism = true;
  EXPECT_FALSE(check_well_formed(one, wishing).has_value());
  wishing.training.sequence_parallelism = SequenceParallelism::kAlways;
  EXPECT_TRUE(check_well_formed(one, wishing).has_value());
  one.sequence_parallelism = false;
  EXPECT_FALSE(check_well_formed(one, wishing).has_value());
}

TEST(Plan, AGroupThatCannotPartitionTheTokensEvenlyIsNamed) {
  JobSpec wishing = job();
  wishing.training.sequence_parallelism = SequenceParallelism::kAlways;
  wishing.training.sequence_length = 1022;
  Plan one = plan();
  one.sequence_parallelism = true;
  const auto checked = check_well_formed(one, wishing);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(
      checked.error().message,
      "plan.stages[1].replicas[0].tensorParallel: sequence parallelism partitions the tokens of a sequence evenly, "
      "but 4 GPUs cannot share 1022; use a tensorParallel that divides sequenceLength");
  one.stages[1].replicas[0].tensor_parallel = 2;
  EXPECT_TRUE(check_well_formed(one, wishing).has_value());
}

TEST(Plan, CountsItsGpusByPool) {
  EXPECT_EQ(gpu_count(plan()), 7);
  EXPECT_EQ(gpus_by_pool(plan()).at(key("us-central1-a")), 3);
}

TEST(Plan, AWellFormedPlanPassesItsCheck) { EXPECT_TRUE(check_well_formed(plan(), job()).has_value()); }

TEST(Plan, AGapBetweenStagesIsNamed) {
  Plan broken = plan();
  broken.stages[1].first_layer = 3;
  EXPECT_NE(check_well_formed(broken, job())
                .error()
                .message.find("plan.stages[1].layers: [3, 6) is not a range that starts at 2"),
            std::string::npos);
}

TEST(Plan, ReplicasThatDoNotProcessAllMicrobatchesAreNamed) {
  Plan broken = plan();
  broken.stages[0].replicas[0].microbatches = 4;
  EXPECT_NE(check_well_formed(broken, job())
                .error()
                .message.find("plan.stages[0].replicas: their microbatches sum up to 7, not to the 8 of the step"),
            std::string::npos);
}

TEST(Plan, StagesThatEndEarlyAreNamed) {
  Plan broken = plan();
  broken.stages[1].last_layer = 5;
  EXPECT_NE(check_well_formed(broken, job())
                .error()
                .message.find("plan.stages[1].layers: the last stage ends at 5; it must end at 6"),
            std::string::npos);
}

TEST(Plan, AMissingFieldOfAReplicaIsNamedByItsPath) {
  Json json = to_json(plan());
  json["stages"][1]["replicas"][0].erase("microbatches");
  EXPECT_EQ(plan_from_json(json).error().message, "plan.stages[1].replicas[0].microbatches: is missing");
}

TEST(Plan, ANumberBeyondTheRangeOfIntIsRefused) {
  Json json = to_json(plan());
  json["stages"][0]["replicas"][0]["tensorParallel"] = (std::int64_t{1} << 32) + 1;
  EXPECT_EQ(plan_from_json(json).error().message,
            "plan.stages[0].replicas[0].tensorParallel: 4294967297 is out of range or of the wrong type");
}

TEST(ResourceViolations, APlanThatFitsHasNoViolation) {
  EXPECT_TRUE(resource_violations(plan(), job(), cluster()).empty());
}

TEST(ResourceViolations, MoreGpusThanAPoolHasAreAViolation) {
  Plan greedy = plan();
  greedy.stages[0].replicas.push_back({key("us-central1-a"), 2, 1});
  const auto violations = resource_violations(greedy, job(), cluster());
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0], "pool us-central1-a/nvidia-tesla-a100/spot: the plan needs 5 GPUs of 4");
}

TEST(ResourceViolations, AGroupThatFitsOnNoNodeIsAViolationEvenIfThePoolHasEnoughGpus) {
  Plan wide = plan();
  wide.stages[0].replicas = {{key("us-central1-a"), 4, 8}};
  const auto violations = resource_violations(wide, job(), cluster());
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_NE(violations[0].find("do not fit on any node"), std::string::npos);
}

TEST(ResourceViolations, AStageInTwoRegionsIsAViolation) {
  Plan spread = plan();
  spread.stages[1].replicas = {{key("us-central1-a"), 1, 4}, {key("us-west1-b"), 4, 4}};
  const auto violations = resource_violations(spread, job(), cluster());
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_NE(violations[0].find("stage 1: its replicas are in 2 regions"), std::string::npos);
}

TEST(ResourceViolations, ExceedingTheJobsLimitsIsAViolation) {
  JobSpec limited = job();
  limited.resources.max_gpus = 0;
  limited.resources.zones = {Zone("us-west1-b")};
  const auto violations = resource_violations(plan(), limited, cluster());
  ASSERT_EQ(violations.size(), 2U);
  EXPECT_NE(violations[0].find("do not allow it"), std::string::npos);
  EXPECT_EQ(violations[1], "the plan uses 7 GPUs, more than maxGpus 0");
}

}  // namespace
}  // namespace sailor
