// Joining workers receive state while a change is prepared: real workers over real Gloo, one thread each.
#include <gtest/gtest.h>

#include "core/protocol/timeouts.h"
#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"
#include "trainer/elastic/state/peer_replicas.h"

namespace sailor::trainer::testing {
namespace {

constexpr double kTolerance = 1e-5;  // relative, FP32
constexpr std::int64_t kBytesOfElement = 12;

std::int64_t bytes_of(const ModelSpec& model, const WorkerSlices& worker) {
  std::int64_t elements = 0;
  for (const StateSlices* held : {&worker.own, &worker.peer_replicas}) {
    for (const auto& [layer_state, slices] : *held) elements += shard_of(layout_of(model, layer_state), slices).size;
  }
  return elements * kBytesOfElement;
}

// The state of the ranks of a generation, from this one on.
std::int64_t bytes_from(int first, const Assignment& assignment) {
  const Roster roster(assignment);
  const auto peer_replicas = plan_peer_replicas(assignment, roster);
  std::int64_t bytes = 0;
  for (int rank = first; rank < roster.training_workers(); ++rank) {
    bytes += bytes_of(assignment.model, worker_slices(roster, peer_replicas, rank));
  }
  return bytes;
}

class Joining : public ::testing::Test {
 protected:
  Joining() { job_.training.steps = kStepsWithoutEnd; }  // so long that it ends when the test says so

  // The first of the agents train, up to this step.
  void begin(const Plan& plan, WorkerThreads& workers) {
    std::vector<AgentAddress> agents = workers.agents();
    agents.resize(static_cast<std::size_t>(gpu_count(plan)));
    workers.train(generation(job_, 1, plan, agents), 3);
  }

  static void wait_for_steps_of(std::int64_t generation, const WorkerThreads& workers, int worker = 0) {
    workers.wait_until(worker, [=](const WorkerReport& report) {
      return report.generation == generation && report.phase == WorkerPhase::kTraining;
    });
    const std::int64_t step = workers.last(worker).step;
    workers.wait_until(worker, [=](const WorkerReport& report) { return report.step >= step + 4; });
  }

  static std::chrono::sys_time<std::chrono::milliseconds> in(std::chrono::milliseconds duration) {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now() + duration);
  }

  // The second worker replaces the first.
  [[nodiscard]] Assignment succession(const WorkerThreads& workers) const {
    const std::vector<AgentAddress> agents = workers.agents();
    return generation(job_, 2, plan_of(job_, {{0, 5, {8}}}), {agents[1], agents[0]});
  }

  void expect_undisturbed(const WorkerThreads& workers) const {
    testing::expect_undisturbed(job_, workers.losses(), kTolerance, 1);
  }

  Scratch scratch_;
  Assignment job_ = tiny_job(scratch_.text());
};

TEST_F(Joining, ANewReplicaHasItsStateBeforeTrainingStopsForIt) {
  WorkerThreads workers(2);
  begin(plan_of(job_, {{0, 5, {8}}}), workers);
  const Assignment both = generation(job_, 2, plan_of(job_, {{0, 5, {4, 4}}}), workers.agents());
  workers.assign(both);
  wait_for_steps_of(2, workers);
  EXPECT_EQ(workers.progress().streamed_bytes, bytes_from(1, both));
  EXPECT_EQ(workers.progress().moved_bytes, 0);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  workers.lose(1);
  workers.lose(0);
  expect_undisturbed(workers);
}

TEST_F(Joining, WorkersThatTrainReceiveWhatTheNextPlanAddsBeforeTrainingStops) {
  job_.plan.peer_replicas = true;
  WorkerThreads workers(5);
  Plan before = plan_of(job_, {{0, 2, {8}}, {2, 5, {4, 4}}});
  Plan after = plan_of(job_, {{0, 3, {4, 4}, {2, 1}}, {3, 5, {8}, {2}}});
  after.sharded_optimizer = true;
  begin(before, workers);
  const Assignment all = generation(job_, 2, after, workers.agents());
  workers.assign(all);
  wait_for_steps_of(2, workers);
  EXPECT_GT(workers.progress().streamed_bytes, bytes_from(3, all));
  EXPECT_EQ(workers.progress().moved_bytes, 0);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  for (int worker = 4; worker >= 0; --worker) workers.lose(worker);
  expect_undisturbed(workers);
}

TEST_F(Joining, ALeavingWorkerSendsItsStateToWorkersThatTrainOn) {
  WorkerThreads workers(2);
  const Plan two_stages = plan_of(job_, {{0, 2, {8}}, {2, 5, {8}}});
  begin(two_stages, workers);
  const Assignment both = generation(job_, 1, two_stages, workers.agents());
  const Assignment alone = generation(job_, 2, plan_of(job_, {{0, 5, {8}}}), workers.agents());
  const std::int64_t lacked = bytes_from(0, alone) - (bytes_from(0, both) - bytes_from(1, both));
  workers.assign(alone);
  wait_for_steps_of(2, workers);
  EXPECT_EQ(workers.last(1).phase, WorkerPhase::kReleased);
  EXPECT_EQ(workers.progress().streamed_bytes, lacked);
  EXPECT_EQ(workers.progress().moved_bytes, 0);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  workers.lose(0);
  expect_undisturbed(workers);
}

TEST_F(Joining, ALeavingWorkerSendsItsStateToItsReplacement) {
  WorkerThreads workers(2);
  begin(plan_of(job_, {{0, 5, {8}}}), workers);
  const Assignment successor = succession(workers);
  workers.assign(successor);
  wait_for_steps_of(2, workers, 1);
  EXPECT_EQ(workers.last(0).phase, WorkerPhase::kReleased);
  EXPECT_EQ(workers.progress().streamed_bytes, bytes_from(0, successor));
  EXPECT_EQ(workers.progress().moved_bytes, 0);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  workers.lose(1);
  expect_undisturbed(workers);
}

TEST_F(Joining, AWorkerThatMustLeaveSoonSendsItsStateWhileItTrains) {
  WorkerThreads workers(2);
  begin(plan_of(job_, {{0, 5, {8}}}), workers);
  Assignment successor = succession(workers);
  successor.leave_by = in(std::chrono::minutes(1));
  workers.assign(successor);
  wait_for_steps_of(2, workers, 1);
  EXPECT_EQ(workers.progress().streamed_bytes, bytes_from(0, successor));
  EXPECT_EQ(workers.progress().moved_bytes, 0);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  workers.lose(1);
  expect_undisturbed(workers);
}

TEST_F(Joining, AStepThatWouldEndTooLateIsDroppedAndNoOtherStepIs) {
  constexpr int kBatch = 1024;  // its steps take much longer than an assignment
  job_.training.global_batch_size = kBatch;
  WorkerThreads workers(2);
  const Plan before = plan_of(job_, {{0, 2, {kBatch}}, {2, 5, {kBatch}}});
  begin(before, workers);
  Assignment alone = generation(job_, 2, plan_of(job_, {{0, 5, {kBatch}}}), workers.agents());
  const std::chrono::duration<double> half_a_step(workers.progress().step_seconds / 2);
  alone.leave_by = in(kTimeToLeave + std::chrono::duration_cast<std::chrono::milliseconds>(half_a_step));
  workers.assign(alone);
  workers.wait_until(0, [=](const WorkerReport& report) { return report.generation == 2 && report.step == 4; });
  EXPECT_EQ(workers.last(1).phase, WorkerPhase::kReleased);
  EXPECT_EQ(workers.progress().resumed_step, 3);
  EXPECT_EQ(workers.progress().steps_lost, 1) << "the one in flight";
  EXPECT_EQ(workers.progress().source, StateSource::kMemory);
  workers.lose(0);
}

// Whenever it happens: before the workers connect, during streaming, or after the change.
TEST_F(Joining, LosingAJoiningWorkerLosesNoTraining) {
  WorkerThreads workers(3);
  begin(plan_of(job_, {{0, 5, {8}}}), workers);
  std::vector<AgentAddress> agents = workers.agents();
  workers.assign(generation(job_, 2, plan_of(job_, {{0, 5, {4, 4}}}), {agents[0], agents[1]}));
  workers.lose(1);
  workers.assign(generation(job_, 3, plan_of(job_, {{0, 5, {3, 5}}}), {agents[0], agents[2]}));
  wait_for_steps_of(3, workers);
  EXPECT_LE(workers.progress().steps_lost, 1);
  workers.lose(2);
  workers.lose(0);
  expect_undisturbed(workers);
}

TEST_F(Joining, LosingAStateSourceIsHandledLikeAnyLoss) {
  WorkerThreads workers(3);
  begin(plan_of(job_, {{0, 5, {4, 4}}}), workers);
  std::vector<AgentAddress> agents = workers.agents();
  workers.assign(generation(job_, 2, plan_of(job_, {{0, 5, {3, 3, 2}}}), agents));
  workers.lose(1);
  workers.assign(generation(job_, 3, plan_of(job_, {{0, 5, {5, 3}}}), {agents[0], agents[2]}));
  wait_for_steps_of(3, workers);
  EXPECT_LE(workers.progress().steps_lost, 1);
  EXPECT_EQ(workers.progress().source, StateSource::kMemory);
  workers.lose(2);
  workers.lose(0);
  expect_undisturbed(workers);
}

TEST_F(Joining, TheNextChangeReplacesAWithdrawnOne) {
  WorkerThreads workers(2);
  begin(plan_of(job_, {{0, 5, {8}}}), workers);
  for (int number = 2; number < 6; ++number) {
    workers.assign(generation(job_, number, plan_of(job_, {{0, 5, {8 - number, number}}}), workers.agents()));
  }
  wait_for_steps_of(5, workers);
  EXPECT_EQ(workers.progress().steps_lost, 0);
  workers.lose(1);
  workers.lose(0);
  expect_undisturbed(workers);
}

}  // namespace
}  // namespace sailor::trainer::testing
