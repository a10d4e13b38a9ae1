// A pod is given notice, and the path to the pod that takes its state is slow. The test plays the operator.
#include <chrono>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/agents_in_network.h"

namespace sailor::trainer::testing {
namespace {

// Pod 1 has the second stage, and is to leave.
class NoticeOnASlowPath : public AgentsInNetwork {
 protected:
  void train_on_both() {
    start_in_network(2);
    assign(job_, 1, {{0, 2, {1}}, {2, 5, {1}}}, {0, 1});
    wait_for_step(0, 1, 2);
  }
  void leave_within(std::chrono::seconds time) {
    Assignment alone =
        generation(job_, 2, plan_of(job_, {{0, 5, {1}}}), {agents_[0]->address(), agents_[1]->address()});
    alone.leave_by = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()) + time;
    for (const auto& agent : agents_) ASSERT_EQ(agent->put(alone), 200);
  }
  void wait_for_unsent() {
    agents_[1]->wait_until([](const AgentReport& report) { return report.workers.front().unsent.bytes > 0; });
  }
  Assignment job_ = [this] {  // its state takes some seconds on the slow path
    Assignment job = this->job(100'000);
    job.model.hidden_size = 256;
    job.model.ffn_size = 1024;
    job.training.global_batch_size = 2;
    return job;
  }();
};

TEST_F(NoticeOnASlowPath, ThePodSaysWhatItHasNotSentUntilItHas) {
  train_on_both();
  network_->limit_rate_to(0, 2);
  leave_within(std::chrono::seconds(60));
  wait_for_unsent();
  const AgentReport left =
      agents_[1]->wait_until([](const AgentReport& report) { return all_are(report, WorkerPhase::kReleased); });
  EXPECT_EQ(left.workers.front().unsent, UnsentState{});
  EXPECT_EQ(wait_for_step(0, 2, 1).steps_lost, 0);
}

TEST_F(NoticeOnASlowPath, WhatWasNotSentIsLostAndTheJobBeginsAgain) {
  train_on_both();
  network_->limit_rate_to(0, 2);
  leave_within(std::chrono::seconds(15));
  wait_for_unsent();
  agents_[1]->signal(SIGKILL);
  wait_until_missed(0, 1);
  assign(job_, 3, {{0, 5, {1}}}, {0});
  const JobProgress progress = wait_for_step(0, 3, 1);
  EXPECT_EQ(progress.source, StateSource::kStart);
  EXPECT_EQ(progress.resumed_step, 0);
  EXPECT_GT(progress.steps_lost, 0);
}

}  // namespace
}  // namespace sailor::trainer::testing
