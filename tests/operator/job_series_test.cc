// The series of a job: what they say in each of its states, and that they go with it.
#include "operator/metrics/job_series.h"

#include <gtest/gtest.h>

#include "tests/operator/series.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

const JobKey kJob{"team", "job"};

class JobSeriesTest : public ::testing::Test {
 protected:
  void note(const kube::Json& status) {
    Decision decision;
    decision.status = job_status_from_json(status);
    series.note({.job = kJob, .failure = "", .observation = &observation, .decision = &decision});
  }
  void note_progress(const kube::Json& progress) { note({{"progress", progress}}); }
  [[nodiscard]] std::optional<double> value(const std::string& name, const prometheus::Labels& labels = {}) {
    return value_of(registry, name, labels);
  }

  Observation observation;
  SeriesRegistry registry;
  JobSeries series{registry};
};

TEST_F(JobSeriesTest, GoodputIsTheShareOfUsefulTimeAndGoesWithTheJob) {
  note_progress({{"step", 0}, {"elapsedSeconds", "0.000"}, {"usefulSeconds", "0.000"}});
  EXPECT_EQ(value("sailor_job_goodput_ratio"), std::nullopt) << "a share of no time";
  note_progress({{"step", 10}, {"elapsedSeconds", "40.000"}, {"usefulSeconds", "30.000"}});
  EXPECT_EQ(value("sailor_job_goodput_ratio"), 0.75);
  note_progress({{"step", 20}, {"elapsedSeconds", "50.000"}, {"usefulSeconds", "50.500"}});
  EXPECT_EQ(value("sailor_job_goodput_ratio"), 1.0) << "a mean of steps may exceed what they took";
  series.forget(kJob);
  EXPECT_EQ(value("sailor_job_goodput_ratio"), std::nullopt);
}

TEST_F(JobSeriesTest, EverySeriesNamesTheJobAlsoByLabelsThatNoScrapeRenames) {
  note({{"state", "Running"}});
  EXPECT_EQ(value("sailor_job_state", {{"job_namespace", "team"}, {"job_name", "job"}}), 1);
  EXPECT_EQ(value("sailor_job_state", {{"namespace", "team"}, {"job", "job"}}), 1);
}

TEST_F(JobSeriesTest, JobIsInOneStateAtATime) {
  note({{"state", "Waiting"}});
  note({{"state", "Running"}});
  EXPECT_EQ(value("sailor_job_state", {{"state", "Running"}}), 1);
  EXPECT_EQ(value("sailor_job_state", {{"state", "Waiting"}}), 0);
  EXPECT_EQ(value("sailor_job_state", {{"state", "Failed"}}), std::nullopt);
}

TEST_F(JobSeriesTest, CostHasKindsAndLostTimeHasCauses) {
  note_progress({{"dollarsSpent", "10"},
                 {"trafficDollars", "2.5"},
                 {"savedDollars", "4"},
                 {"usefulSeconds", "80"},
                 {"lostSeconds", {{"rescaling", "20"}}}});
  EXPECT_EQ(value("sailor_job_cost_dollars_total", {{"kind", "gpu"}}), 7.5);
  EXPECT_EQ(value("sailor_job_cost_dollars_total", {{"kind", "traffic"}}), 2.5);
  EXPECT_EQ(value("sailor_job_saved_dollars"), 4);
  EXPECT_EQ(value("sailor_job_useful_seconds_total"), 80);
  EXPECT_EQ(value("sailor_job_lost_seconds_total", {{"cause", "rescaling"}}), 20);
  EXPECT_EQ(value("sailor_job_lost_seconds_total", {{"cause", "waiting"}}), 0) << "its rate is known from the start";
}

TEST_F(JobSeriesTest, LimitsOfTheJobAreBudgets) {
  JobSpec job;
  job.training.steps = 1000;
  job.objective = MaximizeThroughput{Dollars(0.02), DollarsPerHour(5)};
  observation.job.spec = job;
  note({{"state", "Running"}});
  EXPECT_EQ(value("sailor_job_budget_dollars"), 20);
  EXPECT_EQ(value("sailor_job_budget_dollars_per_hour"), 5);
  EXPECT_EQ(value("sailor_job_steps_target"), 1000);
  EXPECT_EQ(value("sailor_job_checkpoint_step"), std::nullopt) << "the job writes no checkpoints";
}

// A job of the world, whose status the series show.
class JobSeriesOfWorld : public JobSeriesTest {
 protected:
  void SetUp() override {
    world.add_node("a", 2);
    world.add_node("b", 1);
    world.add_job({{"resources", {{"minGpus", 3}}}, {"checkpoint", {{"path", "/checkpoints"}}}});
    world.settle();
    note(world.status());
  }
  void settle() {
    world.settle();
    note(world.status());
  }
  void expect_no_use() {
    EXPECT_EQ(sum_of(registry, "sailor_job_gpus"), 0);
    EXPECT_EQ(sum_of(registry, "sailor_job_tokens_per_second"), 0);
    EXPECT_EQ(sum_of(registry, "sailor_job_planned_tokens_per_second"), 0);
    EXPECT_EQ(sum_of(registry, "sailor_job_cost_dollars_per_hour"), 0);
    EXPECT_EQ(value("sailor_job_mfu_ratio"), std::nullopt);
    EXPECT_EQ(value("sailor_job_state", {{"state", "Running"}}), 0);
  }
  World world;
};

TEST_F(JobSeriesOfWorld, RunningJobUsesItsGpus) {
  EXPECT_EQ(sum_of(registry, "sailor_job_gpus"), 3);
  EXPECT_NE(value("sailor_job_mfu_ratio"), std::nullopt);
  EXPECT_EQ(value("sailor_job_state", {{"state", "Running"}}), 1);
}

TEST_F(JobSeriesOfWorld, SuspendedJobUsesNothing) {
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  settle();
  expect_no_use();
  EXPECT_EQ(value("sailor_job_state", {{"state", "Suspended"}}), 1);
}

TEST_F(JobSeriesOfWorld, WaitingJobUsesNothing) {
  world.preempt("b");
  settle();
  expect_no_use();
  EXPECT_EQ(value("sailor_job_state", {{"state", "Waiting"}}), 1);
}

TEST_F(JobSeriesOfWorld, CompleteJobUsesNothingAndKeepsItsCounters) {
  world.finish_pods();
  settle();
  expect_no_use();
  EXPECT_EQ(value("sailor_job_state", {{"state", "Complete"}}), 1);
  EXPECT_NE(value("sailor_job_tokens_total"), std::nullopt);
}

TEST(GoodputWindow, LooksAtTheLastHour) {
  GoodputWindow window;
  window.add(0, 0);
  EXPECT_EQ(window.ratio(), std::nullopt);
  for (int minute = 1; minute <= 120; ++minute) window.add(60.0 * minute, minute <= 60 ? 0 : 30.0 * (minute - 60));
  EXPECT_DOUBLE_EQ(window.ratio().value(), 0.5);
}

TEST(GoodputWindow, OfAnOldJobBeginsWithTheOperator) {
  GoodputWindow window;
  window.add(10000, 10);
  EXPECT_EQ(window.ratio(), std::nullopt);
  window.add(10010, 20);
  EXPECT_EQ(window.ratio(), std::nullopt) << "ten seconds say little";
  window.add(10100, 100);
  EXPECT_DOUBLE_EQ(window.ratio().value(), 0.9);
}

TEST(GoodputWindow, OfAYoungJobCoversItsWholeLife) {
  GoodputWindow window;
  window.add(20, 5);
  EXPECT_DOUBLE_EQ(window.ratio().value(), 0.25);
}

}  // namespace
}  // namespace sailor::testing
