// Jobs that begin with the state of another job, run by real agents and workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/agents.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ResumedJob : public Agents {
 protected:
  void SetUp() override {
    Assignment first = job_named("first", 40);
    first.checkpoint.every_steps = 10;
    start(1);
    assign(first, 1, {{0, 5, {8}}}, {0});
    ASSERT_EQ(last_progress(0).last_checkpoint_step, 40);
  }

  Assignment job_named(const std::string& name, std::int64_t steps) {
    Assignment job = this->job(steps);
    job.job.name = job.model.name = name;
    job.job_uid = "uid of " + name;
    job.checkpoint = {.path = (scratch_.folder() / "saved").string(), .keep = 10};
    return job;
  }

  // Runs the job on two stages, which the first job did not have.
  JobProgress run(const Assignment& job) {
    const std::size_t agent = agents_.size();
    start(2);
    assign(job, 1, {{0, 3, {8}}, {3, 5, {8}}}, {agent, agent + 1});
    return last_progress(agent);
  }

  std::string message_of_failure(const Assignment& job) {
    start(1);
    assign(job, 1, {{0, 5, {8}}}, {1});
    EXPECT_EQ(agents_[1]->wait_for_exit(), 1);
    const auto report = agent_report_from_json(nlohmann::json::parse(agents_[1]->termination_report(), nullptr, false));
    return report ? report->workers.front().message : report.error().message;
  }
};

TEST_F(ResumedJob, LearnsWhatOneJobOfAllStepsDoes) {
  Assignment second = job_named("second", 80);
  second.checkpoint.resume_from = {.job = "first"};
  const JobProgress progress = run(second);
  EXPECT_EQ(progress.resumed_step, 40);
  EXPECT_EQ(progress.source, StateSource::kCheckpoint);
  EXPECT_EQ(progress.steps_lost, 0);
  EXPECT_EQ(progress.step, 80);
  second.checkpoint = {};
  EXPECT_NEAR(progress.loss, undisturbed_loss(second), progress.loss * kLossTolerance);
}

// The checkpoint of the last step is always written. Of earlier ones, those are skipped that become due while another
// is still being written, so the first job has two last steps.
TEST_F(ResumedJob, BeginsWithTheStepThatItNames) {
  ASSERT_EQ(run(job_named("first", 60)).last_checkpoint_step, 60);
  Assignment second = job_named("second", 50);
  second.checkpoint.resume_from = {.job = "first", .step = 40};
  EXPECT_EQ(run(second).resumed_step, 40);
}

TEST_F(ResumedJob, BeginsWithAStepThatOnlyAnEarlierJobOfTheNameHas) {
  Assignment again = job_named("first", 50);
  again.job_uid = "another";
  again.checkpoint.resume_from = {.job = "first"};
  ASSERT_EQ(run(again).last_checkpoint_step, 50);
  Assignment second = job_named("second", 60);
  second.checkpoint.resume_from = {.job = "first", .step = 40};
  EXPECT_EQ(run(second).resumed_step, 40);
}

TEST_F(ResumedJob, MayHaveTheNameOfTheDeletedJob) {
  Assignment again = job_named("first", 50);
  again.job_uid = "another";
  again.checkpoint.resume_from = {.job = "first"};
  EXPECT_EQ(run(again).resumed_step, 40);
}

TEST_F(ResumedJob, FailsIfThereIsNoSuchCheckpointInsteadOfBeginningAnew) {
  Assignment second = job_named("second", 50);
  second.checkpoint.resume_from = {.job = "first", .step = 25};
  EXPECT_THAT(message_of_failure(second), AllOf(HasSubstr("job first"), HasSubstr("step 25"), HasSubstr("saved")));
}

TEST_F(ResumedJob, FailsIfItsStepsAreDoneAlready) {
  Assignment second = job_named("second", 40);
  second.checkpoint.resume_from = {.job = "first"};
  EXPECT_THAT(message_of_failure(second), AllOf(HasSubstr("step 40"), HasSubstr("raise training.steps")));
}

TEST_F(ResumedJob, FailsIfTheOtherJobHasAnotherModel) {
  Assignment second = job_named("second", 50);
  second.model.ffn_size *= 2;
  second.checkpoint.resume_from = {.job = "first"};
  EXPECT_THAT(message_of_failure(second),
              AllOf(HasSubstr("another model"), HasSubstr("its ffnSize is 64, but this job's is 128")));
}

// Its pods were lost before the operator knew that it was complete.
TEST_F(ResumedJob, WithoutAStepLeftReportsTheLossOfItsCheckpoint) {
  const double loss = last_progress(0).loss;
  const JobProgress progress = run(job_named("first", 40));
  EXPECT_EQ(progress.resumed_step, 40);
  EXPECT_EQ(progress.loss, loss);
}

}  // namespace
}  // namespace sailor::trainer::testing
