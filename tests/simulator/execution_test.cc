// Tests what the execution model changes about a step, with figures computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"
#include "tests/support/networks.h"
#include "tests/support/profiles.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;
using testing::an_even_plan;
using testing::free_network;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4");
const double kMessage = 512 * 128 * 4.0;  // bytes of a microbatch of one sequence

// Layers take 1 ms forward and 2 ms backward. A message takes 1 ms where links are slow.
class ExecutionOfAStep : public ::testing::Test {
 protected:
  ExecutionOfAStep() {
    for (Link& link : slow_.tiers) link.bandwidth = BytesPerSecond(kMessage / 1e-3);
  }

  [[nodiscard]] Simulator simulator(const ExecutionModel& execution) const {
    ProfileBook profiles;
    profiles.add(testing::a_profile(job_, kPool.accelerator, {{1, 1}, {1, 2}}));
    return Simulator(std::move(profiles), slow_, execution);
  }
  [[nodiscard]] Estimate estimate(const ExecutionModel& execution, const Plan& plan) const {
    return simulator(execution).simulate(job_, cluster_, plan).value();
  }

  JobSpec job_ = a_job().batch(8);
  ClusterState cluster_ = a_cluster().pool("us-central1-a", "nvidia-l4", 16, 2);
  NetworkModel slow_ = free_network();
};

// Six layers in two stages: a pass of stage 0 takes 9 ms, and two messages more if it waits for them.
TEST_F(ExecutionOfAStep, APassThatWaitsForItsMessagesTakesLongerByThem) {
  const Plan plan = an_even_plan(job_, kPool, 2, 1, 1);
  ExecutionModel waits = trainer_execution_model();
  waits.messages_beside_passes = false;
  const Estimate beside = estimate(trainer_execution_model(), plan);
  const Estimate waiting = estimate(waits, plan);
  EXPECT_GE(waiting.iteration.value(), 8 * (9e-3 + 2e-3));
  EXPECT_LT(beside.iteration.value(), 8 * (9e-3 + 2e-3));
  EXPECT_NEAR((waiting.time.compute - beside.time.compute).value(), 0, 1e-12) << "messages are not compute";
}

TEST_F(ExecutionOfAStep, MessagesOfAGroupTravelSideBySide) {
  Plan plan = an_even_plan(job_, kPool, 2, 1, 1);
  for (Stage& stage : plan.stages) stage.replicas.front().tensor_parallel = 2;
  ExecutionModel one_by_one = trainer_execution_model();
  one_by_one.messages_by_group = false;
  one_by_one.messages_beside_passes = false;
  ExecutionModel by_group = one_by_one;
  by_group.messages_by_group = true;
  EXPECT_NEAR((estimate(one_by_one, plan).iteration - estimate(by_group, plan).iteration).value(), 8 * 2 * 0.5e-3, 2e-3)
      << "half of each of the messages of eight microbatches";
}

TEST_F(ExecutionOfAStep, ASumThatWaitsForPassesIsOneRingAtItsShareOfTheRate) {
  const Plan plan = an_even_plan(job_, kPool, 1, 4, 1);
  ExecutionModel waits = trainer_execution_model();
  waits.sums_beside_passes = false;
  waits.sum_algorithm = SumAlgorithm::kRing;
  waits.sum_share = 0.5;
  const double gradients = static_cast<double>(stage_parameters(job_.model, 0, job_.model.layer_count())) * 4;
  const double ring = 2 * 3 * (gradients / 4) / (kMessage / 1e-3) / 0.5;
  EXPECT_NEAR(estimate(waits, plan).time.gradient_sync.value(), ring, 1e-3 * ring);
  EXPECT_LT(estimate(trainer_execution_model(), plan).time.gradient_sync.value(), ring);
}

// The two stages sum the rest of their gradients first, in rings of two.
TEST_F(ExecutionOfAStep, ATiedEmbeddingIsSummedOverTheFirstAndTheLastStageTogether) {
  ExecutionModel waits = trainer_execution_model();
  waits.sums_beside_passes = false;
  waits.sum_algorithm = SumAlgorithm::kRing;
  const ModelSpec& model = job_.model;
  ASSERT_TRUE(model.tied_embeddings);
  const double tied = static_cast<double>(model.vocab_size) * model.hidden_size;
  const auto ring = [](double parameters, int members) {
    return 2 * (members - 1) * (parameters * 4 / members) / (kMessage / 1e-3);
  };
  const auto rest = [&](int first, int last) {
    return static_cast<double>(stage_parameters(model, first, last)) - tied;
  };
  const double both = std::max(ring(rest(0, 3), 2), ring(rest(3, 6), 2)) + ring(tied, 4);
  const Estimate tied_ends = estimate(waits, an_even_plan(job_, kPool, 2, 2, 1));
  EXPECT_NEAR(tied_ends.time.gradient_sync.value(), both, 2e-3 * both);
}

TEST_F(ExecutionOfAStep, AnUpdateTakesItsShareOfTheProfiles) {
  const Plan plan = an_even_plan(job_, kPool, 1, 1, 1);
  ExecutionModel fused = trainer_execution_model();
  fused.update_share = 0.25;
  EXPECT_NEAR(estimate(fused, plan).time.update / estimate(trainer_execution_model(), plan).time.update, 0.25, 1e-6);
}

TEST_F(ExecutionOfAStep, ItsSensitivityIsTheLossOfThroughputIfSumsOrMessagesAreSlower) {
  const Plan plan = an_even_plan(job_, kPool, 1, 4, 1);
  ExecutionModel waits = trainer_execution_model();
  waits.sums_beside_passes = false;
  const Estimate usual = estimate(waits, plan);
  const EstimateBasis basis = simulator(waits).basis_of(job_, cluster_, plan).value();
  const double slower = usual.iteration.value() + usual.time.gradient_sync.value() / 2;
  EXPECT_NEAR(basis.sensitivity.slower_sums, 1 - usual.iteration.value() / slower, 1e-6);
  EXPECT_EQ(basis.sensitivity.slower_messages, 0) << "a single stage sends no messages";
  EXPECT_EQ(basis.execution, waits);
}

TEST_F(ExecutionOfAStep, TheFormulaIsUsedOnlyForPlansThatItCanExpress) {
  const ExecutionModel paper = *find_execution_model("sailor-paper");
  const Plan even = an_even_plan(job_, kPool, 2, 2, 1);
  const Estimate by_formula = estimate(paper, even);
  const double pass = 9e-3;
  EXPECT_NEAR((by_formula.time.compute + by_formula.time.bubble + by_formula.time.point_to_point).value(),
              (4 - 1) * (pass + 2e-3) + pass + 1e-3 + pass + 2e-3, 1e-9);
  Plan uneven = even;
  uneven.stages[1].replicas = {{kPool, 1, 8}};
  EXPECT_GT(estimate(paper, uneven).iteration.value(), 8 * pass) << "one replica of stage 1 has eight microbatches";
}

}  // namespace
}  // namespace sailor
