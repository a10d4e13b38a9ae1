// Jobs with a limit on their cost, while the prices of their GPUs change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A job trains on four GPUs for half a dollar per hour. It may cost sixty cents.
class LimitOnCost : public ::testing::Test {
 protected:
  void start(const Json& elasticity = {{"mode", "Live"}}) {
    set_price("0.125");
    world.add_node("a", 2);
    world.add_node("b", 2);
    world.add_job({{"elasticity", elasticity}, {"objective", {{"type", "MaxThroughput"}, {"maxCostPerHour", "0.60"}}}});
    world.settle();
    world.pass(seconds(11));
    world.settle();
  }
  void set_price(const std::string& price) { world.add_pool("t4", {{"pricePerGpuHour", price}}); }
  [[nodiscard]] int gpus() const { return gpu_count(world.record().plan); }

  World world;
};

TEST_F(LimitOnCost, AJobWhosePlanGetsTooDearMovesToOneThatKeepsTheLimit) {
  start();
  ASSERT_EQ(gpus(), 4);
  set_price("0.25");
  world.settle();
  EXPECT_EQ(gpus(), 2);
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "LimitExceeded");
  EXPECT_THAT(world.condition("Planned"), HasSubstr("The plan before costs $1 an hour"));
  EXPECT_THAT(world.condition("Degraded"), StartsWith("False")) << "nothing was lost";
}

TEST_F(LimitOnCost, APlanThatKeepsTheLimitAtAHigherPriceStays) {
  start();
  set_price("0.15");
  world.settle();
  EXPECT_EQ(world.generation(), 1);
}

TEST_F(LimitOnCost, AJobMovesBackOnceThePriceHasFallen) {
  start();
  set_price("0.25");
  world.settle();
  set_price("0.125");
  world.pass(seconds(11));
  world.settle();
  EXPECT_EQ(gpus(), 4);
  EXPECT_EQ(world.status()["rescales"].back()["reason"], "ScaleUpOpportunity");
}

TEST_F(LimitOnCost, AChangeThatKeepsTheLimitIsNotPostponed) {
  world.pause = Seconds(600);
  start({{"mode", "Live"}, {"lookAhead", "On"}});
  set_price("0.25");
  world.settle();
  EXPECT_EQ(gpus(), 2);
}

TEST_F(LimitOnCost, IfNoPlanKeepsTheLimitTheJobTrainsOnAndSaysSo) {
  start();
  set_price("0.75");
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.condition("Planned"),
              AllOf(StartsWith("True"), HasSubstr("keeps this plan because no other is possible: no plan costs so")));
  set_price("0.125");
  world.settle();
  EXPECT_THAT(world.condition("Planned"), Not(HasSubstr("keeps this plan")));
}

TEST_F(LimitOnCost, AJobThatIsNotElasticKeepsItsPlan) {
  start({{"mode", "Off"}});
  set_price("0.25");
  world.settle();
  EXPECT_EQ(gpus(), 4);
}

}  // namespace
}  // namespace sailor::testing
