// How often the operator writes the status of a job.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/reconcile/decide/next_status.h"
#include "operator/reconcile/decide/plan_lookup.h"
#include "operator/reconcile/job_times.h"

namespace sailor {
namespace {

// A job that has written its first step an hour after the epoch, and has done the second one.
class StepsOfAJob {
 public:
  explicit StepsOfAJob(std::size_t jobs) {
    observation.now = Time(std::chrono::hours(1));
    observation.record = GenerationRecord{};
    observation.rivals = std::make_shared<const Rivals>(Rivals::InOrder(jobs, std::make_shared<const Rival>()));
    AgentReport report;
    report.progress = JobProgress{.step = 1};
    observation.agents["pod"].report = report;
    for (const ConditionType type : kConditionTypes) result_.conditions[type] = no(Reason::kNotYetKnown, "");
    observation.job.status = with_status(observation, result_).status.value();
    observation.agents["pod"].report->progress->step = 2;
  }
  [[nodiscard]] bool writes_step() const { return with_status(observation, result_).status.has_value(); }

  Observation observation;

 private:
  PolicyResult result_;
};

// The least time after which the job writes another step.
std::chrono::milliseconds time_between_steps(std::size_t jobs) {
  StepsOfAJob job(jobs);
  const Time first = job.observation.now;
  while (!job.writes_step()) job.observation.now += std::chrono::milliseconds(100);
  return std::chrono::duration_cast<std::chrono::milliseconds>(job.observation.now - first);
}

TEST(StatusOfSteps, IsWrittenAfterTheClockWasSetBack) {
  StepsOfAJob job(1);
  EXPECT_FALSE(job.writes_step());
  job.observation.now -= std::chrono::minutes(30);
  EXPECT_TRUE(job.writes_step());
}

TEST(StatusOfSteps, IsWrittenLessOftenIfThereAreManyJobs) {
  EXPECT_EQ(time_between_steps(0), std::chrono::seconds(2));
  EXPECT_EQ(time_between_steps(20), std::chrono::seconds(2));
  EXPECT_EQ(time_between_steps(100), std::chrono::seconds(10));
  EXPECT_EQ(time_between_steps(500), std::chrono::seconds(10));
  EXPECT_EQ(time_between_steps(1000), std::chrono::seconds(20));
}

// Decisions about a job whose status says that it waits for a pod.
class StatusThatChanges : public ::testing::Test {
 protected:
  StatusThatChanges() {
    for (const ConditionType type : kConditionTypes) result_.conditions[type] = no(Reason::kNotYetKnown, "");
    result_.conditions[ConditionType::kPlanned] = yes(Reason::kPlanned, "");
    result_.conditions[ConditionType::kPodsReady] = no(Reason::kPodsPending, "Pod a does not exist yet.");
    observation_.now = Time(std::chrono::hours(1));
    observation_.job.status = with_status(observation_, result_).status.value();
  }
  Observation observation_;
  PolicyResult result_;
};

TEST_F(StatusThatChanges, IsWrittenOnceASecondIfOnlyWordsChange) {
  result_.conditions[ConditionType::kPodsReady].message = "Pod b does not exist yet.";
  observation_.status_age = std::chrono::milliseconds(300);
  const Decision decision = with_status(observation_, result_);
  EXPECT_FALSE(decision.status.has_value());
  EXPECT_EQ(decision.requeue_after, std::chrono::milliseconds(700));
  observation_.status_age = std::chrono::milliseconds(1000);
  EXPECT_TRUE(with_status(observation_, result_).status.has_value());
}

TEST_F(StatusThatChanges, IsWrittenAtOnceIfAFactChanges) {
  observation_.status_age = std::chrono::milliseconds(0);
  EXPECT_FALSE(with_status(observation_, result_).status.has_value());
  result_.conditions[ConditionType::kPodsReady].reason = Reason::kPodRefused;
  EXPECT_TRUE(with_status(observation_, result_).status.has_value());
}

TEST_F(StatusThatChanges, NewJobThatIsPlannedAtOnceNeverSaysThatItIsBeingPlanned) {
  observation_.job.status = JobStatus();
  observation_.status_age = std::chrono::milliseconds(0);
  PolicyResult planned = result_;
  result_.conditions[ConditionType::kPlanned] = planning();
  EXPECT_FALSE(with_status(observation_, result_).status.has_value());
  EXPECT_TRUE(with_status(observation_, planned).status.has_value());
  observation_.status_age = std::chrono::milliseconds(1000);
  EXPECT_TRUE(with_status(observation_, result_).status.has_value());
}

TEST(StatusTimes, AreThoseOfTheLastWriteOrOfTheFirstLook) {
  using std::chrono::milliseconds;
  StatusTimes times;
  const JobKey job{"default", "a"};
  const MonotonicTime start{std::chrono::hours(1)};
  EXPECT_EQ(times.find(job, "uid"), std::nullopt);
  EXPECT_EQ(times.find_or_note(job, "uid", start), start);
  EXPECT_EQ(times.find_or_note(job, "uid", start + milliseconds(5)), start);
  times.note(job, "uid", start + milliseconds(6));
  EXPECT_EQ(times.find_or_note(job, "uid", start + milliseconds(8)), start + milliseconds(6));
  EXPECT_EQ(times.find(job, "uid of another job of the name"), std::nullopt);
  const MonotonicTime later = start + milliseconds(9);
  EXPECT_EQ(times.find_or_note(job, "uid of another job of the name", later), later);
  times.forget(job);
  EXPECT_EQ(times.find(job, "uid of another job of the name"), std::nullopt);
}

}  // namespace
}  // namespace sailor
