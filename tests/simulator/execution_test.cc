// Tests what the execution model changes about a step, with figures computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/layer_times.h"
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
using ::testing::ElementsAre;
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

// Stage 1 receives while stage 0 is held.
TEST_F(ExecutionOfAStep, ASenderWaitsUntilAllButItsBufferOfAMessageHasLeft) {
  const Plan plan = an_even_plan(job_, kPool, 2, 1, 1);
  const auto iteration = [&](Bytes buffer) {
    ExecutionModel model = trainer_execution_model();
    model.send_buffer = buffer;
    return estimate(model, plan).iteration;
  };
  EXPECT_EQ(iteration(Bytes(kMessage)), iteration(Bytes(2 * kMessage))) << "a buffer that holds a message hides it";
  EXPECT_NEAR((iteration(Bytes(0)) - iteration(Bytes(kMessage))).value(), 8e-3, 2e-3) << "of eight activations";
  EXPECT_NEAR((iteration(Bytes(kMessage / 2)) - iteration(Bytes(kMessage))).value(), 4e-3, 2e-3);
}

TEST_F(ExecutionOfAStep, AReceiveInOrderWaitsForItsMessage) {
  const Plan plan = an_even_plan(job_, kPool, 3, 1, 1);
  ExecutionModel in_order = trainer_execution_model();
  in_order.receives_in_order = true;
  EXPECT_GT(estimate(in_order, plan).iteration, estimate(trainer_execution_model(), plan).iteration);
}

TEST_F(ExecutionOfAStep, TheHostTakesItsTimeForEveryPassOfAPipeline) {
  ExecutionModel slow_host = trainer_execution_model();
  slow_host.pass_overhead = Seconds(1e-3);
  const auto compute = [&](const ExecutionModel& model, int stages) {
    return estimate(model, an_even_plan(job_, kPool, stages, 1, 1)).time.compute.value();
  };
  EXPECT_NEAR(compute(slow_host, 2) - compute(trainer_execution_model(), 2), 8 * 2 * 1e-3, 1e-9);
  EXPECT_EQ(compute(slow_host, 1), compute(trainer_execution_model(), 1));
}

TEST_F(ExecutionOfAStep, OneForwardOneBackwardKeepsAsManyMicrobatchesInFlightAsStagesAreLeft) {
  ExecutionModel textbook = trainer_execution_model();
  textbook.schedule = SchedulePolicy::kOneForwardOneBackward;
  const auto activations = [&](int batch) {
    const JobSpec job = a_job().batch(batch);
    const Estimate estimated = simulator(textbook).simulate(job, cluster_, an_even_plan(job, kPool, 3, 1, 1)).value();
    std::vector<double> stages;
    for (const MemoryBreakdown& stage : estimated.memory) stages.push_back(stage.activations.value());
    return stages;
  };
  const std::vector<double> of_one = activations(1);
  EXPECT_THAT(activations(8), ElementsAre(3 * of_one[0], 2 * of_one[1], of_one[2]));
}

// All layers of the fixture take the same time at both sizes, which then consists of launches only.
TEST_F(ExecutionOfAStep, AJobHidesAPartOfTheLaunchOverhead) {
  ModelProfile launches = testing::a_profile(job_, kPool.accelerator, {{1, 1}, {2, 1}});
  launches.times.at({2, 1}) = launches.times.at({1, 1});
  const auto forward = [&](double exposed, int microbatch_size) {
    return with_launches_exposed(launches, exposed).times.at({microbatch_size, 1}).front().forward;
  };
  const Seconds measured = launches.times.at({1, 1}).front().forward;
  EXPECT_EQ(forward(1, 1), measured);
  EXPECT_NEAR(forward(0, 1) / measured, 0.5, 1e-12) << "at the rate of microbatches of two";
  EXPECT_NEAR(forward(0.8, 1) / measured, 0.9, 1e-12);
  EXPECT_EQ(forward(0, 2), measured) << "nothing larger was measured";
}

TEST_F(ExecutionOfAStep, AttentionThatIsNotFusedHoldsItsScores) {
  ExecutionModel scores = trainer_execution_model();
  scores.memory.score_matrices = 1000;  // more than the head's workspace
  const Plan plan = an_even_plan(job_, kPool, 1, 1, 1);
  ExecutionModel more = scores;
  more.memory.score_matrices += 1;
  const double length = job_.training.sequence_length;
  EXPECT_DOUBLE_EQ((estimate(more, plan).memory[0].workspace - estimate(scores, plan).memory[0].workspace).value(),
                   job_.model.heads * length * length * 4);
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
