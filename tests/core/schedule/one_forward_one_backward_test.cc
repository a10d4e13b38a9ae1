// The order of operations of DeepSpeed's pipelines.
#include "core/schedule/one_forward_one_backward.h"

#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_job;
using testing::a_key;
using testing::an_even_plan;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4");

std::string text_of(const ReplicaSchedule& schedule) {
  std::string text;
  for (const Operation& operation : schedule.operations) {
    const char* name = "";
    switch (operation.kind) {
      case OperationKind::kForward:
        name = "F";
        break;
      case OperationKind::kBackward:
        name = "B";
        break;
      case OperationKind::kSendActivation:
        name = ">";
        break;
      case OperationKind::kReceiveActivation:
        name = "<";
        break;
      case OperationKind::kSendGradient:
        name = ")";
        break;
      case OperationKind::kReceiveGradient:
        name = "(";
        break;
    }
    text += (text.empty() ? "" : " ") + std::string(name) + std::to_string(operation.microbatch);
  }
  return text;
}

TEST(DeepSpeedSchedule, GradientsAreReceivedBeforeActivationsAreSent) {
  const auto schedule = deepspeed_schedule(an_even_plan(a_job().batch(3), kPool, 2, 1, 1));
  ASSERT_TRUE(schedule);
  EXPECT_EQ(text_of(schedule->replicas[0][0]), "F0 >0 F1 (0 >1 B0 F2 (1 >2 B1 (2 B2");
  EXPECT_EQ(text_of(schedule->replicas[1][0]), "<0 F0 B0 )0 <1 F1 B1 )1 <2 F2 B2 )2");
}

TEST(DeepSpeedSchedule, AMicrobatchIsSentBeforeItsGradientIsReceived) {
  const auto schedule = deepspeed_schedule(an_even_plan(a_job().batch(1), kPool, 3, 1, 1));
  ASSERT_TRUE(schedule);
  EXPECT_EQ(text_of(schedule->replicas[0][0]), "F0 >0 (0 B0");
  EXPECT_EQ(text_of(schedule->replicas[1][0]), "<0 F0 >0 (0 B0 )0");
}

TEST(DeepSpeedSchedule, ReplicasOfEqualIndexFormAPipeline) {
  const auto schedule = deepspeed_schedule(an_even_plan(a_job().batch(8), kPool, 2, 2, 1));
  ASSERT_TRUE(schedule);
  for (const auto& stage : schedule->replicas) {
    EXPECT_EQ(stage[0].microbatches, (std::vector<int>{0, 2, 4, 6}));
    EXPECT_EQ(stage[1].microbatches, (std::vector<int>{1, 3, 5, 7}));
  }
  EXPECT_EQ(schedule->replicas[0][0].max_in_flight, 2);
}

TEST(DeepSpeedSchedule, UnequalReplicasHaveNoSchedule) {
  Plan plan = an_even_plan(a_job().batch(8), kPool, 2, 2, 1);
  plan.stages[0].replicas[0].microbatches = 5;
  plan.stages[0].replicas[1].microbatches = 3;
  EXPECT_FALSE(deepspeed_schedule(plan));
}

}  // namespace
}  // namespace sailor
