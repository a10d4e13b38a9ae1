// The heart of the trainer: every plan learns the same. Real workers over real Gloo, a thread each.
#include <random>

#include <ATen/core/Tensor.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/plan_json.h"
#include "core/schedule/caps.h"
#include "core/schedule/make_schedule.h"
#include "tests/support/random_plans.h"
#include "tests/support/seed.h"
#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/delegating_group.h"
#include "tests/trainer/support/family_name.h"
#include "tests/trainer/support/nccl_like_backend.h"
#include "tests/trainer/support/training.h"
#include "trainer/comm/communication_error.h"

namespace sailor::trainer::testing {
namespace {

using Shares = std::vector<StageShares>;

const Shares kOneWorker = {{0, 5, {8}}};

Assignment job_of_30_steps(const Scratch& scratch) {
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 30;
  return job;
}

using ::sailor::trainer::testing::expect_same_learning;
void expect_same_learning(const Assignment& job, const Shares& shares) {
  expect_same_learning(job, plan_of(job, shares));
}

struct PlanCase {
  const char* name;
  Shares shares;
};

class EveryPlanLearnsTheSame : public ::testing::TestWithParam<PlanCase> {};

TEST_P(EveryPlanLearnsTheSame, AsOneWorker) {
  const Scratch scratch;
  expect_same_learning(job_of_30_steps(scratch), GetParam().shares);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, EveryPlanLearnsTheSame,
    ::testing::Values(PlanCase{"TwoStages", {{0, 3, {8}}, {3, 5, {8}}}},
                      PlanCase{"ThreeStages", {{0, 2, {8}}, {2, 3, {8}}, {3, 5, {8}}}},
                      PlanCase{"TwoReplicas", {{0, 5, {4, 4}}}}, PlanCase{"UnevenMicrobatches", {{0, 5, {5, 2, 1}}}},
                      PlanCase{"ThreeReplicasFeedTwo", {{0, 2, {3, 3, 2}}, {2, 5, {5, 3}}}},
                      PlanCase{"OneFeedsThreeFeedsTwo", {{0, 1, {8}}, {1, 4, {4, 3, 1}}, {4, 5, {2, 6}}}},
                      PlanCase{"DegreeTwo", {{0, 5, {8}, {2}}}},
                      PlanCase{"DegreesTwoAndOneInOneStage", {{0, 5, {5, 3}, {2, 1}}}},
                      PlanCase{"DegreeTwoFeedsFour", {{0, 3, {8}, {2}}, {3, 5, {8}, {4}}}},
                      PlanCase{"AllOfItMixed",
                               {{0, 2, {3, 3, 2}, {1, 2, 1}}, {2, 4, {5, 3}, {1, 2}}, {4, 5, {8}, {2}}}}),
    [](const auto& plan) { return plan.param.name; });

class EveryFamilyLearnsTheSame : public ::testing::TestWithParam<ModelFamily> {};

TEST_P(EveryFamilyLearnsTheSame, OnUnevenStagesAndMixedTensorParallelSizes) {
  const Scratch scratch;
  Assignment job = job_of_30_steps(scratch);
  job.model = tiny_model(GetParam());
  expect_same_learning(job, {{0, 2, {5, 3}, {1, 2}}, {2, 5, {8}, {2}}});
}

INSTANTIATE_TEST_SUITE_P(Families, EveryFamilyLearnsTheSame,
                         ::testing::Values(ModelFamily::kOpt, ModelFamily::kGptNeo, ModelFamily::kLlama), family_name);

TEST(Plans, UntiedEmbeddingsLearnTheSame) {
  const Scratch scratch;
  Assignment job = job_of_30_steps(scratch);
  job.model = tiny_model(ModelFamily::kLlama, false);
  expect_same_learning(job, {{0, 2, {5, 3}}, {2, 5, {8}, {2}}});
}

TEST(Plans, AVocabularyThatTensorParallelismDoesNotDivideLearnsTheSame) {
  const Scratch scratch;
  Assignment job = job_of_30_steps(scratch);
  job.model.vocab_size = 257;
  expect_same_learning(job, {{0, 5, {5, 3}, {2, 3}}});
}

TEST(Plans, ActivationCheckpointingChangesNothing) {
  const Scratch scratch;
  const Assignment job = job_of_30_steps(scratch);
  Plan plan = plan_of(job, {{0, 3, {8}}, {3, 5, {5, 3}, {1, 2}}});
  plan.activation_checkpointing = true;
  expect_same_learning(job, plan);
}

TEST(Plans, AShardedOptimizerLearnsTheSame) {
  const Scratch scratch;
  const Assignment job = job_of_30_steps(scratch);
  Plan plan = plan_of(job, {{0, 3, {3, 3, 2}}, {3, 5, {5, 3}, {2, 1}}});
  plan.sharded_optimizer = true;
  expect_same_learning(job, plan);
}

// Replicas up to four times apart over slow links, with room for few microbatches: lists unlike those by the shares.
TEST(Plans, InTheOrderOfASimulationLearnTheSame) {
  const Scratch scratch;
  Assignment job = job_of_30_steps(scratch);
  const Plan plan = plan_of(job, {{0, 2, {3, 3, 2}}, {2, 4, {5, 3}}, {4, 5, {8}}});
  sailor::testing::Random random(sailor::testing::test_seed());
  job.schedule_times = with_in_flight_caps(plan, sailor::testing::random_times(random, plan), SchedulePolicy::kFlow);
  expect_same_learning(job, plan);
}

// Rounding to eight bits decides what a step changes: the losses stay together, the weights need not.
TEST(Plans, InBf16StayNearFp32OnWhateverPlan) {
  const Scratch scratch;
  Assignment job = job_of_30_steps(scratch);
  const Trained fp32 = train(job, plan_of(job, kOneWorker));
  job.training.precision = Precision::kBf16;
  Plan sharded = plan_of(job, {{0, 2, {5, 3}, {1, 2}}, {2, 5, {4, 4}}});
  sharded.sharded_optimizer = true;
  for (const Plan& plan : {plan_of(job, kOneWorker), plan_of(job, {{0, 2, {5, 3}, {1, 2}}, {2, 5, {8}}}), sharded}) {
    const Trained bf16 = train(job, plan);
    EXPECT_LE(difference(job, bf16, fp32).loss, 0.02);
    EXPECT_LT(bf16.losses.back(), 0.8 * bf16.losses.front());
  }
}

// Forgets this worker's part of one tensor of one block, as a bug in a reduction would.
class Forgetful : public DelegatingGroup {
 public:
  using DelegatingGroup::DelegatingGroup;
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override {
    constexpr int kMessagesOfStep = 4;               // three blocks and the token embedding
    constexpr std::int64_t kQueryWeights = 16 * 32;  // of half of the heads
    if (messages_++ % kMessagesOfStep == 0) tensor.narrow(0, 0, kQueryWeights).zero_();
    return DelegatingGroup::start_all_reduce(tensor);
  }

 private:
  int messages_ = 0;
};

TEST(Plans, AMissingGradientSliceIsDetected) {
  const Scratch scratch;
  const Assignment job = job_of_30_steps(scratch);
  const Trained reference = train(job, plan_of(job, kOneWorker));
  const Trained wrong = train(job, plan_of(job, {{0, 5, {5, 3}, {2, 1}}}),
                              {.wrap = [](std::unique_ptr<Group> group, const std::string& name, int rank) {
                                if (rank != 2 || name != "data-parallel-0-2") return group;
                                return std::unique_ptr<Group>(std::make_unique<Forgetful>(std::move(group)));
                              }});
  const Difference apart = difference(job, wrong, reference);
  EXPECT_TRUE(apart.loss > kLossTolerance || apart.weights > kWeightTolerance)
      << "losses " << apart.loss << " apart, weights " << apart.weights;
}

// A worker whose message arrives only after an event.
class LateMessage : public DelegatingGroup {
 public:
  struct Tags {
    int late = 0;   // of the message that arrives late
    int after = 0;  // of the message that this worker has to send before
  };
  LateMessage(std::unique_ptr<Group> group, Tags tags) : DelegatingGroup(std::move(group)), tags_(tags) {}

  std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) override {
    is_sent_ = is_sent_ || tag == tags_.after;
    return DelegatingGroup::send(tensor, to, tag);
  }
  std::unique_ptr<Work> receive(const at::Tensor& into, int from, int tag) override {
    auto work = DelegatingGroup::receive(into, from, tag);
    if (tag != tags_.late) return work;
    return std::make_unique<LateWork>(std::move(work), is_sent_);
  }

 private:
  class LateWork : public Work {
   public:
    LateWork(std::unique_ptr<Work> work, const bool& is_sent) : work_(std::move(work)), is_sent_(is_sent) {}
    void wait() override {
      if (!is_sent_) throw std::runtime_error("the worker waits for a message that it does not need yet");
      work_->wait();
    }

   private:
    std::unique_ptr<Work> work_;
    const bool& is_sent_;
  };

  Tags tags_;
  bool is_sent_ = false;  // by the worker's only thread
};

// Links are slow, so the message of microbatch 1 starts to travel before that of microbatch 0 has arrived.
TEST(Plans, AMessageIsWaitedForOnlyByThePassThatNeedsIt) {
  const Scratch scratch;
  Assignment job = job_of_30_steps(scratch);
  job.training.steps = 1;
  const Plan plan = plan_of(job, {{0, 3, {8}}, {3, 5, {8}}});
  ScheduleTimes times = times_from_shares(plan);
  for (LinkTimes& link : times.links.front()) link.latency = 3 * times.replicas[0][0].forward;
  job.schedule_times = with_in_flight_caps(plan, times, SchedulePolicy::kFlow);
  const std::vector<Operation> list = make_schedule(plan, *job.schedule_times).replicas[1][0].operations;
  const Operation second{OperationKind::kReceiveActivation, 1, 0};
  const Operation gradient{OperationKind::kSendGradient, 0, 0};
  ASSERT_LT(std::ranges::find(list, second), std::ranges::find(list, gradient)) << "the case is of no use";
  const auto late = [](std::unique_ptr<Group> group, const std::string& name, int rank) {
    if (rank != 1 || !name.starts_with("pipeline")) return group;
    constexpr LateMessage::Tags kTags{.late = 2 * 1, .after = 2 * 0 + 1};  // gradients have odd tags
    return std::unique_ptr<Group>(std::make_unique<LateMessage>(std::move(group), kTags));
  };
  EXPECT_NO_THROW(train(job, plan, {.wrap = late}));
}

// Random cuts of the layers, shares of the microbatches, tensor-parallel sizes and options; eight workers at most.
Plan random_plan(const Assignment& job, std::mt19937& random) {
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  while (true) {
    Shares shares;
    for (int first = 0; first < 5;) {
      StageShares stage{first, number(first + 1, 5), {}, {}};
      for (int left = 8; left > 0; left -= stage.microbatches.back()) {
        stage.microbatches.push_back(stage.microbatches.size() == 2 ? left : number(1, left));
        stage.tensor_parallel_sizes.push_back(number(1, 3));
      }
      first = stage.last_layer;
      shares.push_back(std::move(stage));
    }
    Plan plan = plan_of(job, shares);
    plan.activation_checkpointing = number(0, 1) == 1;
    plan.sharded_optimizer = number(0, 1) == 1;
    if (gpu_count(plan) <= 8) return plan;
  }
}

// A message takes memory until its receiver has it, and no longer.
TEST(Plans, PeakMemoryDoesNotGrowWithTheNumberOfMicrobatches) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 2;
  const auto peaks = [&](int microbatches) {
    job.training.global_batch_size = 2 * microbatches;
    const int half = microbatches / 2;
    return train(job, plan_of(job, {{0, 2, {half, half}}, {2, 4, {microbatches}}, {4, 5, {half, half}}})).peak_bytes;
  };
  const auto message = 2 * job.training.sequence_length * job.model.hidden_size * 4;
  const auto few = peaks(16), many = peaks(96);
  for (const auto& [rank, peak] : many) EXPECT_LT(peak, few.at(rank) + 8 * message) << "rank " << rank;
}

// The last stage starts the sum of the tied embeddings in its last backward pass. If that waited for stage 0 to
// connect, it would wait for a stage that waits for the gradient of that pass.
TEST(Plans, TiedStagesDeadlockUnlessTheirGroupsConnectBeforeTheFirstSum) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 2;
  const Plan plan = plan_of(job, {{0, 3, {8}}, {3, 5, {8}}});
  const auto losses = [&](bool connects_eagerly) {
    const NcclManners manners{.connects_eagerly = connects_eagerly, .connect_timeout = std::chrono::seconds(1)};
    return train(job, plan, {.collectives = nccl_like(manners)}).losses;
  };
  EXPECT_THROW(losses(false), CommunicationError);
  EXPECT_THAT(losses(true), ::testing::SizeIs(2));
}

// If two workers of a plan waited for each other, no step would end. Their timeout would pass, and the test would fail.
TEST(Plans, NoRandomPlanDeadlocks) {
  std::mt19937 random(sailor::testing::test_seed());
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 2;
  for (int i = 0; i < 8; ++i) {
    const Plan plan = random_plan(job, random);
    EXPECT_THAT(train(job, plan).losses, ::testing::SizeIs(2)) << to_json(plan).dump();
  }
}

TEST(Plans, ARandomPlanLearnsTheSame) {
  std::mt19937 random(sailor::testing::test_seed());
  const Scratch scratch;
  const Assignment job = job_of_30_steps(scratch);
  const Plan plan = random_plan(job, random);
  fmt::print("{} stages, {} workers\n", plan.stages.size(), gpu_count(plan));
  expect_same_learning(job, plan);
}

}  // namespace
}  // namespace sailor::trainer::testing
