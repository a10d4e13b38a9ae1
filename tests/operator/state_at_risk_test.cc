// What a job says while a node with notice has state that no other node has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Node b has been given notice of 15 s, and its pod sends state to the pod on node a.
class StateAtRisk : public JobOnTwoNodes {
 protected:
  void SetUp() override {
    start();
    for (auto& [uid, agent] : world.agents) {
      if (agent.report->progress) agent.report->progress->step = 41;
    }
    world.agents_hang = true;
    world.preempt("b");
    world.settle();
    ASSERT_EQ(world.generation(), 2);
  }
  void reports_unsent(const std::string& node, UnsentState unsent) {
    world.agent_on(node).report->workers.front().unsent = unsent;
    world.settle();
  }
  void has_checkpoint_of(std::int64_t step) {
    for (auto& [uid, agent] : world.agents) {
      if (agent.report->progress) agent.report->progress->last_checkpoint_step = step;
    }
  }
  [[nodiscard]] std::string degraded() const { return world.condition("Degraded"); }
};

TEST_F(StateAtRisk, IsReportedBeforeTheNodeIsGone) {
  has_checkpoint_of(30);
  reports_unsent("b", {.bytes = 3'000'000'000, .bytes_per_second = 100e6});
  EXPECT_THAT(degraded(), AllOf(StartsWith("True StateAtRisk"), HasSubstr(world.pod_on("b")),
                                HasSubstr("may be gone at 2026-01-01T00:00:"), HasSubstr("3.0 GB"),
                                HasSubstr("100 MB/s"), HasSubstr("the checkpoint of step 30")));
  EXPECT_THAT(world.events(), Contains(HasSubstr("StateAtRisk")));
}

TEST_F(StateAtRisk, WithoutACheckpointMeansTheBeginning) {
  reports_unsent("b", {.bytes = 3'000'000'000, .bytes_per_second = 100e6});
  EXPECT_THAT(degraded(), AllOf(HasSubstr("step 0"), HasSubstr("no checkpoint")));
}

TEST_F(StateAtRisk, OfAJobThatResumedAnotherMeansTheStateOfThatJob) {
  world.change_job([](Json& job) {
    job["spec"]["checkpoint"] = {{"path", "/checkpoints"}, {"resumeFrom", {{"job", "other"}}}};
  });
  reports_unsent("b", {.bytes = 3'000'000'000, .bytes_per_second = 100e6});
  EXPECT_THAT(degraded(),
              HasSubstr("starts again with the state of job other, because it has no checkpoint of its own"));
}

TEST_F(StateAtRisk, IsNotWhatArrivesInTime) {
  reports_unsent("b", {.bytes = 300'000'000, .bytes_per_second = 100e6});
  EXPECT_THAT(degraded(), Not(HasSubstr("StateAtRisk")));
}

TEST_F(StateAtRisk, IsNotWhatAPodThatStaysHas) {
  reports_unsent("a", {.bytes = 3'000'000'000, .bytes_per_second = 100e6});
  EXPECT_THAT(degraded(), Not(HasSubstr("StateAtRisk")));
}

TEST_F(StateAtRisk, IsWhatHasNotBegunToArriveShortlyBeforeTheEnd) {
  reports_unsent("b", {.bytes = 1'000, .bytes_per_second = 0});
  EXPECT_THAT(degraded(), Not(HasSubstr("StateAtRisk")));
  ASSERT_EQ(world.requeue_after, std::chrono::seconds(11)) << "no report may come meanwhile";
  world.pass(std::chrono::ceil<std::chrono::seconds>(*world.requeue_after));
  world.settle();
  EXPECT_THAT(degraded(), StartsWith("True StateAtRisk"));
}

// Otherwise each report would be another event.
TEST_F(StateAtRisk, IsReportedOnceAndUntilItHasArrived) {
  reports_unsent("b", {.bytes = 3'000'000'000, .bytes_per_second = 100e6});
  const std::string first = degraded();
  reports_unsent("b", {.bytes = 900'000'000, .bytes_per_second = 200e6});
  EXPECT_EQ(degraded(), first);
  reports_unsent("b", {});
  EXPECT_THAT(degraded(), Not(HasSubstr("StateAtRisk")));
}

}  // namespace
}  // namespace sailor::testing
