// What the simulator says from a profile measured here, against what a worker does here.
#include <array>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"
#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/thread_group.h"
#include "tests/trainer/support/worker_threads.h"
#include "trainer/device/device.h"
#include "trainer/model/stage_model.h"
#include "trainer/optim/adamw.h"
#include "trainer/profile/measure_layers.h"
#include "trainer/profile/tensor_memory.h"

namespace sailor::trainer {
namespace {

constexpr int kMicrobatch = 2;

// Large enough that arithmetic and not the calls around it takes the time, small enough for a test.
ModelSpec a_model() {
  ModelSpec model = find_model("tiny-gpt2").value();
  model.max_positions = 128;
  return model;
}

Assignment an_assignment(const testing::Scratch& scratch) {
  Assignment job = testing::tiny_job(scratch.text());
  job.model = a_model();
  job.training.global_batch_size = 8;
  job.training.sequence_length = 128;
  job.training.microbatch_sizes = {kMicrobatch};
  job.training.steps = 12;
  job.training.optimizer.learning_rate = 1e-4;
  return job;
}

JobSpec job_spec(const Assignment& assignment) {
  JobSpec job;
  job.key = assignment.job;
  job.model = assignment.model;
  job.training = assignment.training;
  return job;
}

Plan a_plan(const Assignment& job, const PoolKey& pool, int tensor_parallel = 1) {
  Plan plan = testing::plan_of(job, {{0, job.model.layer_count(), {4}, {tensor_parallel}}});
  for (Stage& stage : plan.stages) {
    for (Replica& replica : stage.replicas) replica.pool = pool;
  }
  return plan;
}

class EstimateFromProfile : public ::testing::Test {
 protected:
  void SetUp() override { set_cpu_threads(1); }

  Estimate estimate(SequenceParallelism measured_with = SequenceParallelism::kNever) {
    ProfileBook profiles;
    profiles.add(measure({.model = job_.model,
                          .sequence_length = job_.training.sequence_length,
                          .accelerator = pool_.accelerator,
                          .microbatch_sizes = {kMicrobatch},
                          .tensor_parallel_sizes = {tensor_parallel_},
                          .sequence_parallelism = measured_with,
                          .time = std::chrono::milliseconds(300)})
                     .profile);
    const auto cluster = sailor::testing::a_cluster().pool("us-central1-a", "nvidia-l4", 1, tensor_parallel_).price(1);
    return Simulator(profiles).estimate(job_spec(job_), cluster, a_plan(job_, pool_, tensor_parallel_)).value();
  }

  testing::Scratch scratch_;
  Assignment job_ = an_assignment(scratch_);
  int tensor_parallel_ = 1;
  PoolKey pool_ = sailor::testing::a_key("us-central1-a", "nvidia-l4");
};

// Other programs share the machine, and by turns with either side: only a gross fault fails. The ratio is in the log.
TEST_F(EstimateFromProfile, IsCloseToTheMeasuredStep) {
  const double estimated = estimate().iteration.value();
  testing::WorkerThreads workers(1);
  workers.assign(testing::generation(job_, 1, a_plan(job_, pool_), workers.agents()));
  workers.wait_until(0, [](const WorkerReport& report) { return report.generation == 1; });
  workers.join();
  const double measured = workers.progress().step_seconds;
  fmt::print("[ ESTIMATE ] step of {:.4f} s, measured {:.4f} s, ratio {:.2f}\n", estimated, measured,
             estimated / measured);
  EXPECT_GT(estimated / measured, 0.3);
  EXPECT_LT(estimated / measured, 3);
}

// Two steps of one worker.
void train_twice(const Assignment& job, const TensorParallel& group) {
  LayerStates states;
  for (const int id : all_layer_states(job.model)) {
    const StateLayout whole = layout_of(job.model, id);
    states[id] = initial_state(job.model, shard_of(whole, shard_slices(whole, group.rank())), 1);
  }
  StageModel model({.spec = job.model, .first_layer = 0, .last_layer = job.model.layer_count()}, states, group);
  const at::Tensor tokens = at::arange(kMicrobatch * 128, at::kLong).remainder(job.model.vocab_size).view({-1, 128});
  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    (void)model.forward(microbatch, tokens, tokens);
    (void)model.backward(microbatch, at::ones({}));
  }
  for (auto& [id, layer_state] : model.parameters())
    apply_adamw(states.at(id), layer_state.gradient(), job.training, 1, 1);
}

// All that the model of memory knows but what a worker on a CPU does not have, the context of a device and the buckets
// of an all-reduce.
void expect_within_a_tenth(std::int64_t peak, const MemoryBreakdown& memory) {
  const double expected = (memory.weights + memory.gradients + memory.optimizer + memory.activations).value();
  const double ratio = static_cast<double>(peak) / expected;
  fmt::print("[ MEMORY   ] peak of {} bytes, expected {:.0f}, ratio {:.3f}\n", peak, expected, ratio);
  EXPECT_GT(ratio, 0.9);
  EXPECT_LT(ratio, 1.1);
}

TEST_F(EstimateFromProfile, PredictsPeakTensorMemoryWithinATenth) {
  const MemoryBreakdown memory = estimate().memory.at(0);
  const TensorMemory tensors;
  train_twice(job_, {});
  expect_within_a_tenth(tensors.peak(), memory);
}

// Also from a profile that was measured without: what sequence parallelism saves is then the simulator's own formula.
TEST_F(EstimateFromProfile, PredictsPeakTensorMemoryWithSequenceParallelismWithinATenth) {
  using enum SequenceParallelism;
  for (const auto& [wish, measured_with] : {std::pair(kNever, kNever), {kAlways, kNever}, {kAlways, kAlways}}) {
    const bool is_sequence_parallel = wish == kAlways;
    job_.training.sequence_parallelism = wish;
    tensor_parallel_ = 2;
    const MemoryBreakdown memory = estimate(measured_with).memory.at(0);
    std::array<std::int64_t, 2> peaks{};
    testing::in_thread_group(2, [&](int rank, Group& group) {
      set_cpu_threads(1);
      const TensorMemory tensors;
      train_twice(job_, TensorParallel(group, {rank, 2}, is_sequence_parallel));
      peaks.at(static_cast<std::size_t>(rank)) = tensors.peak();
    });
    for (const std::int64_t peak : peaks) expect_within_a_tenth(peak, memory);
  }
}

}  // namespace
}  // namespace sailor::trainer
