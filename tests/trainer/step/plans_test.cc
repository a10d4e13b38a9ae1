// The heart of the trainer: every plan learns the same. Real workers over real Gloo, a thread each.
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"
#include "trainer/checkpoint/files.h"
#include "trainer/model/pieces.h"

namespace sailor::trainer::testing {
namespace {

constexpr double kLossTolerance = 1e-5;    // relative, FP32
constexpr double kWeightTolerance = 1e-4;  // of the tensor's largest value

using Losses = std::map<std::int64_t, double>;
using Shares = std::vector<StageShares>;

const Shares kOneWorker = {{0, 5, {8}}};

void expect_same(const Losses& losses, const Losses& reference) {
  ASSERT_EQ(losses.size(), reference.size());
  for (const auto& [step, loss] : reference) {
    EXPECT_NEAR(losses.at(step), loss, loss * kLossTolerance) << "at step " << step;
  }
}

void expect_same_weights(const Assignment& job, const std::filesystem::path& a, const std::filesystem::path& b) {
  for (const int id : all_pieces(job.model)) {
    const auto left = read_piece(a, job.training.steps, id);
    const auto right = read_piece(b, job.training.steps, id);
    ASSERT_TRUE(left && right);
    for (const Slice& slice : piece_of(job.model, id).slices) {
      if (slice.name == "attention.key.bias") continue;  // its true gradient is zero: only rounding moves it
      float largest = 0, difference = 0;
      for (auto i = static_cast<std::size_t>(slice.offset); i < static_cast<std::size_t>(slice.offset + slice.size());
           ++i) {
        largest = std::max(largest, std::abs(left->weights[i]));
        difference = std::max(difference, std::abs(left->weights[i] - right->weights[i]));
      }
      EXPECT_LE(difference, largest * kWeightTolerance) << "piece " << id << " " << slice.name;
    }
  }
}

// Runs the job with both plans; compares the losses of all steps and the weights at the end.
void expect_same_learning(Assignment job, const Shares& shares) {
  const Scratch scratch;
  job.checkpoint = {.path = (scratch.folder() / "one").string(), .every_steps = 1000, .keep = 1};
  const auto one = step_folder(checkpoint_folder(job), job.training.steps);
  const Losses reference = losses_of(job, plan_of(job, kOneWorker));
  job.checkpoint.path = (scratch.folder() / "other").string();
  const auto other = step_folder(checkpoint_folder(job), job.training.steps);
  const Losses losses = losses_of(job, plan_of(job, shares));
  ASSERT_EQ(std::ssize(reference), job.training.steps);
  EXPECT_LT(reference.rbegin()->second, 0.8 * reference.begin()->second) << "nothing was learned";
  expect_same(losses, reference);
  expect_same_weights(job, one, other);
}

struct PlanCase {
  const char* name;
  Shares shares;
};

class EveryPlanLearnsTheSame : public ::testing::TestWithParam<PlanCase> {};

TEST_P(EveryPlanLearnsTheSame, AsOneWorker) {
  const Scratch scratch;
  expect_same_learning(tiny_job(scratch.text()), GetParam().shares);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, EveryPlanLearnsTheSame,
    ::testing::Values(PlanCase{"TwoStages", {{0, 3, {8}}, {3, 5, {8}}}}, PlanCase{"TwoReplicas", {{0, 5, {4, 4}}}},
                      PlanCase{"UnevenMicrobatches", {{0, 5, {5, 2, 1}}}},
                      PlanCase{"ThreeReplicasFeedTwo", {{0, 2, {3, 3, 2}}, {2, 5, {5, 3}}}},
                      PlanCase{"OneFeedsThreeFeedsTwo", {{0, 1, {8}}, {1, 4, {4, 3, 1}}, {4, 5, {2, 6}}}}),
    [](const auto& plan) { return plan.param.name; });

class EveryFamilyLearnsTheSame : public ::testing::TestWithParam<ModelFamily> {};

TEST_P(EveryFamilyLearnsTheSame, OnUnevenStagesAndReplicas) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.model = tiny_model(GetParam());
  expect_same_learning(job, {{0, 2, {5, 3}}, {2, 5, {8}}});
}

INSTANTIATE_TEST_SUITE_P(Families, EveryFamilyLearnsTheSame,
                         ::testing::Values(ModelFamily::kOpt, ModelFamily::kGptNeo, ModelFamily::kLlama));

TEST(Plans, UntiedEmbeddingsLearnTheSame) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.model = tiny_model(ModelFamily::kLlama, false);
  expect_same_learning(job, {{0, 2, {5, 3}}, {2, 5, {8}}});
}

TEST(Plans, ActivationCheckpointingChangesNothing) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  const Losses kept = losses_of(job, plan_of(job, kOneWorker));
  Plan recomputing = plan_of(job, {{0, 3, {8}}, {3, 5, {8}}});
  recomputing.activation_checkpointing = true;
  expect_same(losses_of(job, recomputing), kept);
}

// Random cuts of the layers, and shares of the microbatches in each stage.
Shares random_shares(std::mt19937& random) {
  Shares shares;
  for (int first = 0; first < 5;) {
    const int last = std::uniform_int_distribution(first + 1, 5)(random);
    StageShares stage{first, last, {}};
    for (int left = 8; left > 0;) {
      const int share = stage.microbatches.size() == 2 ? left : std::uniform_int_distribution(1, left)(random);
      stage.microbatches.push_back(share);
      left -= share;
    }
    shares.push_back(stage);
    first = last;
  }
  return shares;
}

TEST(Plans, ARandomPlanLearnsTheSame) {
  const auto seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  const Scratch scratch;
  expect_same_learning(tiny_job(scratch.text()), random_shares(random));
}

}  // namespace
}  // namespace sailor::trainer::testing
