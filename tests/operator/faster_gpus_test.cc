// Why a plan is expected to be too slow for its GPUs, if it was made when some of them were slow.
#include <gtest/gtest.h>

#include "operator/reconcile/decide/stragglers.h"

namespace sailor {
namespace {

// The plan expects that the only GPU of node a is slow.
Observation planned_for_a_slow_gpu() {
  const PoolKey pool = parse_pool_key("us-central1-a/nvidia-l4/spot/slow3").value();
  GenerationRecord record;
  record.plan.stages = {{0, 3, {{pool, 1, 8}}}};
  record.placement = {.slots = {{.pool = pool, .node = "a", .node_uid = "a", .gpus = 1}}, .replicas = {{}}};
  Observation observation;
  observation.record = record;
  return observation;
}

TEST(CauseOfFasterGpus, NamesAGpuThatIsLessSlowThanPlanned) {
  Observation observation = planned_for_a_slow_gpu();
  observation.record->slow_gpus = {{.node_uid = "a", .gpu = 0, .slowdown = 1.2}};
  const auto cause = cause_of_faster_gpus(observation);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->reason, Reason::kStraggler);
  EXPECT_EQ(cause->message, "GPU 0 of node a takes 1.2 times as long as usual.");
}

TEST(CauseOfFasterGpus, IsNoneIfNoGpuIsKnownToBeSlowOrToHaveRecovered) {
  EXPECT_FALSE(cause_of_faster_gpus(planned_for_a_slow_gpu()));
}

}  // namespace
}  // namespace sailor
