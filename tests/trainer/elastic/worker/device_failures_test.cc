// What a worker makes of failures of its device and of its device's collectives.
#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seed.h"
#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/nccl_like_backend.h"
#include "tests/trainer/support/worker_threads.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kConnectTimeout{1};

Assignment endless_job(const Scratch& scratch) {
  Assignment job = tiny_job(scratch.text());
  job.training.steps = kStepsWithoutEnd;
  return job;
}

Assignment two_replicas(const Assignment& job, const WorkerThreads& workers) {
  return generation(job, 1, plan_of(job, {{0, 5, {4, 4}}}), workers.agents());
}

bool has_failed(const WorkerReport& report) { return report.phase == WorkerPhase::kFailed; }

std::exception_ptr out_of_memory() {
  return std::make_exception_ptr(c10::OutOfMemoryError({"", "", 0}, "CUDA out of memory"));
}

TEST(DeviceFailures, AWorkerWithoutMemoryToConnectFailsAndItsPeerWaitsForAnotherGeneration) {
  const Scratch scratch;
  const auto fail = [](int index) {
    if (index == 0) std::rethrow_exception(out_of_memory());
  };
  WorkerThreads workers(2, nccl_like({.connect_timeout = kConnectTimeout, .while_connecting = fail}));
  workers.assign(two_replicas(endless_job(scratch), workers));
  workers.wait_until(0, has_failed);
  EXPECT_THAT(workers.last(0).message, HasSubstr("connecting group data-parallel-0-1: CUDA out of memory"));
  workers.wait_until(1, [](const WorkerReport& report) { return report.phase == WorkerPhase::kBroken; });
  workers.lose_all();
}

TEST(DeviceFailures, AWorkerWithoutMemoryForTheModelSaysSoInOneSentence) {
  const Scratch scratch;
  Assignment job = endless_job(scratch);
  job.model.hidden_size = 1 << 15;
  job.model.max_positions = std::numeric_limits<int>::max();  // 2^48 bytes, more than a process can address
  WorkerThreads workers(1, nullptr);
  workers.assign(generation(job, 1, plan_of(job, {{0, 5, {8}}}), workers.agents()));
  workers.wait_until(0, has_failed);
  EXPECT_THAT(workers.last(0).message, AllOf(HasSubstr("memory"), Not(HasSubstr("\n"))));
  workers.lose_all();
}

TEST(DeviceFailures, AWorkerWhoseGpuFailsInASumFailsAndItsPeerTrainsOnWithoutThatSum) {
  const Scratch scratch;
  const Assignment job = endless_job(scratch);
  const auto error = std::make_exception_ptr(c10::AcceleratorError({"", "", 0}, 79, "GPU has fallen off the bus"));
  WorkerThreads workers(2, nccl_like({.error = [&](int index) { return index == 0 ? error : nullptr; }}));
  workers.assign(two_replicas(job, workers));
  workers.wait_until(0, has_failed);
  EXPECT_THAT(workers.last(0).message, HasSubstr("GPU has fallen off the bus"));
  workers.train(generation(job, 2, plan_of(job, {{0, 5, {8}}}), {workers.agents().at(1)}), 3);
  workers.lose_all();
  EXPECT_EQ(workers.progress().resumed_step, 0);
  expect_undisturbed(job, workers.losses(), 1e-5);
}

// A generation that drops a worker of the last one ends that at once, in whatever sum or message it is. A sum that was
// aborted and taken for complete could change the losses.
TEST(DeviceFailures, TwentyChangesThatDropWorkersInTheMiddleOfAStepLearnTheSame) {
  constexpr int kChanges = 20;
  const std::map<std::size_t, std::vector<StageShares>> shares = {
      {2, {{0, 2, {8}}, {2, 5, {8}}}}, {3, {{0, 5, {5, 3}, {2, 1}}}}, {4, {{0, 3, {4, 4}}, {3, 5, {8}, {2}}}}};
  std::mt19937 random(sailor::testing::test_seed());
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  const Scratch scratch;
  const Assignment job = endless_job(scratch);
  WorkerThreads workers(4, nccl_like());
  for (int change = 1; change <= kChanges; ++change) {
    std::vector<AgentAddress> agents = workers.agents();
    std::ranges::shuffle(agents, random);
    agents.resize(static_cast<std::size_t>(number(2, 4)));
    workers.train(generation(job, change, plan_of(job, shares.at(agents.size())), agents), number(1, 3));
  }
  workers.lose_all();
  expect_undisturbed(job, workers.losses(), 1e-4, kChanges);
}

}  // namespace
}  // namespace sailor::trainer::testing
