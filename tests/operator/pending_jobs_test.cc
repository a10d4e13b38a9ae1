// Which jobs without GPUs are about to be planned, and since when.
#include "operator/reconcile/observe/pending_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor {
namespace {

using std::chrono::seconds;

class PendingJob : public ::testing::Test {
 protected:
  PendingJob() {
    NodeView node;
    node.name = "a";
    node.gpus = 8;
    node.is_ready = true;
    node.pool = {Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};
    cluster_.nodes.push_back(node);
  }
  static std::shared_ptr<const Rival> job(RivalState state, std::vector<Accelerator> accelerators = {}) {
    Rival rival;
    rival.uid = "uid";
    rival.state = state;
    ResourceSpec resources;
    resources.accelerators = std::move(accelerators);
    rival.demand = std::make_shared<const Demand>(
        Demand{.resources = resources, .elasticity = ElasticityMode::kLive, .rules = SchedulingRules(kube::Json())});
    return std::make_shared<const Rival>(std::move(rival));
  }
  void use(int gpus) {
    cluster_.nodes.change("a", [&](NodeView& node) { node.used = {{"another job", gpus}}; });
  }
  // Looks at the job ten seconds later.
  std::shared_ptr<const Rival> look(const std::shared_ptr<const Rival>& job) {
    Rivals::InOrder jobs = {job};
    now_ += seconds(10);
    pending_.fill_in(jobs, cluster_, now_);
    return jobs.front();
  }

  ClusterView cluster_;
  MonotonicTime now_{std::chrono::hours(1)};
  PendingJobs pending_;
};

TEST_F(PendingJob, IsUndecidedSinceItWasFirstSeen) {
  const auto undecided = job(RivalState::kUndecided);
  const MonotonicTime first = now_ + seconds(10);
  EXPECT_TRUE(look(undecided)->is_pending);
  EXPECT_EQ(look(undecided)->pending_since, first);
  EXPECT_EQ(look(job(RivalState::kUndecided))->pending_since, first) << "its priority may have changed meanwhile";
}

TEST_F(PendingJob, WaitsUntilMoreGpusAreFreeThanWhenItWasDecidedAbout) {
  use(6);
  const auto waits = job(RivalState::kWaits);
  EXPECT_FALSE(look(waits)->is_pending);
  use(7);
  EXPECT_FALSE(look(waits)->is_pending);
  use(6);
  const auto pending = look(waits);
  EXPECT_TRUE(pending->is_pending);
  EXPECT_EQ(pending->pending_since, now_);
  use(8);
  EXPECT_FALSE(look(waits)->is_pending);
  EXPECT_EQ(look(waits)->pending_since, std::nullopt);
}

TEST_F(PendingJob, GpusThatItMayNotUseAreNotFreeForIt) {
  use(8);
  const auto waits = job(RivalState::kWaits, {Accelerator("nvidia-tesla-t4")});
  EXPECT_FALSE(look(waits)->is_pending);
  use(0);
  EXPECT_FALSE(look(waits)->is_pending);
}

TEST_F(PendingJob, IsTheSameObjectWhileNothingChanges) {
  const auto undecided = job(RivalState::kUndecided);
  EXPECT_EQ(look(undecided), look(undecided));
}

TEST_F(PendingJob, WithGpusIsLeftAsItIs) {
  const auto holds = job(RivalState::kHolds);
  EXPECT_EQ(look(holds), holds);
}

TEST(RivalJobs, AreFoundByUid) {
  Rival first;
  first.uid = "first";
  Rival second;
  second.uid = "second";
  second.state = RivalState::kWaits;
  const Rivals rivals({std::make_shared<const Rival>(first), std::make_shared<const Rival>(second)});
  ASSERT_NE(rivals.find("second"), nullptr);
  EXPECT_EQ(rivals.find("second")->uid, "second");
  EXPECT_EQ(rivals.find("third"), nullptr);
  EXPECT_THAT(rivals.without_gpus(), ::testing::ElementsAre(rivals.find("second")));
}

}  // namespace
}  // namespace sailor
