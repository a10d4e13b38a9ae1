// Tests where the paper's formula is right, and the named effects where it is not.
#include "simulator/paper_formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/plan_details.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4");

ProfileBook equal_layers(const JobSpec& job) {
  ProfileBook profiles;
  profiles.add(testing::a_profile(job, kPool.accelerator, {{1, 1}}));
  return profiles;
}

struct Compared {
  PaperComparison paper;
  Estimate ours;
};

Compared compared(const JobSpec& job, const NetworkModel& network, const Plan& plan) {
  const Simulator simulator(equal_layers(job), network);
  const ClusterState cluster = a_cluster().pool("us-central1-a", "nvidia-l4", 32, 1);
  return {simulator.details(job, cluster, plan).value().paper, simulator.simulate(job, cluster, plan).value()};
}

TEST(PaperFormula, IsRightForEqualStagesOnAFreeNetwork) {
  const JobSpec job = a_job().batch(16);
  const Compared result = compared(job, free_network(), an_even_plan(job, kPool, 3, 2, 1));
  EXPECT_NEAR(result.paper.paper.passes.value(), (8 + 3 - 1) * 6e-3, 1e-9);
  EXPECT_NEAR(result.paper.paper.update.value(), 5e-4, 1e-12) << "that of one of a stage's two layers";
  EXPECT_NEAR(result.paper.paper.total().value() + 5e-4, result.ours.iteration.value(), 1e-6);
  EXPECT_THAT(result.paper.effects, IsEmpty());
  EXPECT_EQ(note_of(result.paper, result.ours.iteration), std::nullopt);
}

TEST(PaperFormula, GivesEveryStageTheReplicasOfTheNarrowest) {
  const JobSpec job = a_job().batch(32);
  Plan plan = an_even_plan(job, kPool, 2, 4, 1);
  plan.stages[1].replicas = {{kPool, 1, 16}, {kPool, 1, 16}};
  plan.stages[1].first_layer = plan.stages[0].last_layer = 4;  // four of six layers: 8 x 12 ms beside 16 x 6 ms
  const Compared result = compared(job, free_network(), plan);
  EXPECT_NEAR(result.paper.paper.passes.value(), 15 * 12e-3 + 12e-3 + 6e-3, 1e-9);
  EXPECT_THAT(result.paper.effects, ElementsAre(HasSubstr("as many replicas as the one with the fewest")));
  EXPECT_THAT(note_of(result.paper, result.ours.iteration).value(),
              HasSubstr("the Sailor paper's formula gives 0.199 s"));
}

TEST(PaperFormula, LetsEveryMicrobatchWaitForItsTransfers) {
  NetworkModel slow = free_network();
  for (Link& link : slow.tiers) link.bandwidth = BytesPerSecond(1 << 26);
  const JobSpec job = a_job().batch(32);
  const Compared result = compared(job, slow, an_even_plan(job, kPool, 3, 1, 1));
  const double transfer = 512 * 128 * 4.0 / (1 << 26);
  EXPECT_NEAR(result.paper.paper.passes.value(), 31 * (6e-3 + 2 * transfer) + 3 * 6e-3 + 6 * transfer, 1e-6)
      << "every stage counts two messages of a microbatch, also the first and the last";
  EXPECT_THAT(result.paper.effects, ElementsAre(HasSubstr("transfers are hidden behind passes")));
}

TEST(PaperFormula, ItsNetworkHasNoLatency) {
  NetworkModel late = free_network();
  for (Link& link : late.tiers) link.latency = Seconds(5e-3);
  const JobSpec job = a_job().batch(32);
  const Compared result = compared(job, late, an_even_plan(job, kPool, 1, 4, 1));
  EXPECT_NEAR(result.paper.paper.gradient_sync.value(), 0, 1e-9);
  EXPECT_THAT(result.paper.effects,
              ElementsAre(HasSubstr("each message of the ring has latency"), HasSubstr("that of one layer")));
}

}  // namespace
}  // namespace sailor
