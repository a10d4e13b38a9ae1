// Sequence parallelism learns the same as one worker: real workers over real Gloo, a thread each.
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/delegating_group.h"
#include "tests/trainer/support/family_name.h"
#include "tests/trainer/support/training.h"

namespace sailor::trainer::testing {
namespace {

using Shares = std::vector<StageShares>;

// Microbatches of two sequences: a worker of a group of two has one of them, one of four half of one.
Assignment a_job(const Scratch& scratch) {
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 30;
  job.training.sequence_parallelism = SequenceParallelism::kAlways;
  return job;
}

struct PlanCase {
  const char* name;
  Shares shares;
};

class EverySequenceParallelPlanLearnsTheSame : public ::testing::TestWithParam<PlanCase> {};

TEST_P(EverySequenceParallelPlanLearnsTheSame, AsOneWorker) {
  const Scratch scratch;
  const Assignment job = a_job(scratch);
  expect_same_learning(job, plan_of(job, GetParam().shares));
}

INSTANTIATE_TEST_SUITE_P(Plans, EverySequenceParallelPlanLearnsTheSame,
                         ::testing::Values(PlanCase{"DegreeTwo", {{0, 5, {8}, {2}}}},
                                           PlanCase{"DegreesTwoAndOneInOneStage", {{0, 5, {5, 3}, {2, 1}}}},
                                           PlanCase{"DegreeTwoFeedsTwo", {{0, 3, {8}, {2}}, {3, 5, {8}, {2}}}},
                                           PlanCase{"DegreeTwoFeedsFour", {{0, 3, {8}, {2}}, {3, 5, {8}, {4}}}},
                                           PlanCase{"DegreesTwoAndOneFeedThreeAndOne",
                                                    {{0, 2, {5, 3}, {2, 1}}, {2, 5, {3, 5}, {1, 3}}}}),
                         [](const auto& plan) { return plan.param.name; });

class EveryFamilyWithSequenceParallelism : public ::testing::TestWithParam<ModelFamily> {};

TEST_P(EveryFamilyWithSequenceParallelism, LearnsTheSame) {
  const Scratch scratch;
  Assignment job = a_job(scratch);
  job.model = tiny_model(GetParam());
  expect_same_learning(job, plan_of(job, {{0, 2, {5, 3}, {1, 2}}, {2, 5, {8}, {2}}}));
}

INSTANTIATE_TEST_SUITE_P(Families, EveryFamilyWithSequenceParallelism,
                         ::testing::Values(ModelFamily::kOpt, ModelFamily::kGptNeo, ModelFamily::kLlama), family_name);

TEST(SequenceParallel, UntiedEmbeddingsLearnTheSame) {
  const Scratch scratch;
  Assignment job = a_job(scratch);
  job.model = tiny_model(ModelFamily::kLlama, false);
  expect_same_learning(job, plan_of(job, {{0, 2, {8}, {2}}, {2, 5, {8}, {2}}}));
}

TEST(SequenceParallel, ActivationCheckpointingAndAShardedOptimizerChangeNothing) {
  const Scratch scratch;
  const Assignment job = a_job(scratch);
  Plan plan = plan_of(job, {{0, 3, {8}, {2}}, {3, 5, {5, 3}, {1, 2}}});
  plan.activation_checkpointing = plan.sharded_optimizer = true;
  expect_same_learning(job, plan);
}

TEST(SequenceParallel, OfSingleSequencesSplitsEachOfThem) {
  const Scratch scratch;
  Assignment job = a_job(scratch);
  job.training.global_batch_size = 8;
  job.training.microbatch_sizes = {1};
  expect_same_learning(job, plan_of(job, {{0, 3, {8}, {4}}, {3, 5, {5, 3}, {2, 1}}}));
}

TEST(SequenceParallel, InBf16StaysNearFp32) {
  const Scratch scratch;
  Assignment job = a_job(scratch);
  const Trained fp32 = train(job, plan_of(job, {{0, 5, {8}}}));
  job.training.precision = Precision::kBf16;
  const Trained bf16 = train(job, plan_of(job, {{0, 2, {5, 3}, {1, 2}}, {2, 5, {8}, {2}}}));
  EXPECT_LE(difference(job, bf16, fp32).loss, 0.02);
  EXPECT_LT(bf16.losses.back(), 0.8 * bf16.losses.front());
}

// Leaves each worker with its own tokens' part of the gradients, as if they were whole.
class Unsummed : public DelegatingGroup {
 public:
  using DelegatingGroup::DelegatingGroup;
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override {
    return DelegatingGroup::start_all_reduce(tensor.clone());
  }
};

// Norms, biases after row-parallel linears and learned positions: each worker has all of them, and sees its tokens
// only.
TEST(SequenceParallel, DetectsReplicatedGradientsThatAreNotSummedOverTheGroup) {
  const Scratch scratch;
  const Assignment job = a_job(scratch);
  const Trained reference = train(job, plan_of(job, {{0, 5, {8}}}));
  const Trained wrong = train(job, plan_of(job, {{0, 5, {8}, {2}}}),
                              {.wrap = [](std::unique_ptr<Group> group, const std::string& name, int) {
                                if (name != "data-parallel-0-1") return group;
                                return std::unique_ptr<Group>(std::make_unique<Unsummed>(std::move(group)));
                              }});
  const Difference apart = difference(job, wrong, reference);
  EXPECT_GT(apart.loss, kLossTolerance);
  EXPECT_GT(apart.weights, kWeightTolerance);
}

}  // namespace
}  // namespace sailor::trainer::testing
