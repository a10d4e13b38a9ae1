#include "tests/trainer/support/training.h"

#include <cmath>
#include <mutex>
#include <thread>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/comm/group_factory.h"
#include "trainer/device/device.h"
#include "trainer/optim/adamw.h"
#include "trainer/profile/tensor_memory.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer::testing {
namespace {

constexpr int kStorePort = 7072;

class WrappingFactory : public GroupFactory {
 public:
  WrappingFactory(Rendezvous& rendezvous, const std::string& host, int rank, const TrainOptions& options)
      : GroupFactory(rendezvous, host, rank, options.timeout, {.make_device_backend = options.collectives}),
        rank_(rank),
        wrap_(options.wrap) {}
  using GroupFactory::make_message_group;

  std::unique_ptr<Group> make_collective_group(const std::string& name, const std::vector<int>& ranks) override {
    return wrapped(GroupFactory::make_collective_group(name, ranks), name);
  }
  std::unique_ptr<Group> make_message_group(const std::string& name, const std::vector<int>& ranks) override {
    return wrapped(GroupFactory::make_message_group(name, ranks), name);
  }

 private:
  [[nodiscard]] std::unique_ptr<Group> wrapped(std::unique_ptr<Group> group, const std::string& name) const {
    return wrap_ ? wrap_(std::move(group), name, rank_) : std::move(group);
  }

  int rank_;
  const Wrap& wrap_;
};

// One worker's life: the loop of elastic/worker/generation.h without votes on generations and checkpoints.
class TrainingWorker {
 public:
  TrainingWorker(const Assignment& assignment, int rank, const std::string& host, const TrainOptions& options)
      : assignment_(assignment),
        rank_(rank),
        roster_(assignment),
        rendezvous_(host, kStorePort, "training", options.timeout),
        factory_(rendezvous_, host, rank, options),
        schedule_(worker_schedule_of(assignment, assignment.workers.at(static_cast<std::size_t>(rank)).role.value())),
        groups_(roster_, rank, schedule_, factory_, factory_.make_message_group("everyone", roster_.workers())) {
    for (const int id : roster_.layer_states_of(rank)) {
      held_[id] = initial_state(assignment.model, roster_.held_shard(rank, id), assignment.training.seed);
    }
  }

  std::vector<double> run() {
    const auto batches = Batches::open(assignment_.data, assignment_.training, assignment_.model.vocab_size);
    if (!batches) throw std::runtime_error(batches.error().message);
    StageModel model(stage_shape(assignment_, rank_), held_,
                     TensorParallel(groups_.tensor_parallel(), roster_.tensor_parallel_rank_of(rank_),
                                    assignment_.plan.sequence_parallelism));
    TrainingStep step({assignment_, roster_, schedule_, rank_}, groups_, model, **batches);
    step.take_weights(held_);
    std::vector<double> losses;
    for (std::int64_t k = 0; k < assignment_.training.steps; ++k) {
      std::map<int, at::Tensor> gradients;
      step.run(k,
               [&](int layer_state, const at::Tensor& gradient) { gradients.emplace(layer_state, gradient.clone()); });
      const Totals totals = step.totals();
      (void)step.vote({});
      const double scale = clip_scale(assignment_.training.optimizer, totals.squared_norm);
      for (const auto& [id, state] : held_) apply_adamw(state, gradients.at(id), assignment_.training, k + 1, scale);
      step.take_weights(held_);
      losses.push_back(totals.loss);
      microbatch_seconds_ = step.own_seconds() / step.microbatches();
    }
    return losses;
  }

  [[nodiscard]] double microbatch_seconds() const { return microbatch_seconds_; }

  // Writes what this worker keeps into the whole layer states.
  void hand_over(std::map<int, std::vector<float>>& weights) const {
    for (const auto& [id, state] : held_) {
      const StateLayout whole = layout_of(assignment_.model, id);
      auto& flat = weights[id];
      flat.resize(static_cast<std::size_t>(whole.size));
      const at::Tensor target = at::from_blob(flat.data(), {whole.size}, at::kFloat);
      const auto saved = roster_.saved_slices(rank_, id);
      unpack(packed(state.weights, spans_of(state.layout, saved)), target, spans_of(whole, saved));
    }
  }

 private:
  const Assignment& assignment_;
  int rank_;
  Roster roster_;
  Rendezvous rendezvous_;
  WrappingFactory factory_;
  WorkerSchedule schedule_;
  TrainingGroups groups_;
  LayerStates held_;
  double microbatch_seconds_ = 0;
};

std::vector<AgentAddress> agents_of(const Plan& plan) {
  std::vector<AgentAddress> agents;
  for (int i = 0; i < gpu_count(plan); ++i) agents.push_back({fmt::format("pod-{}", i), "", 1, 1, {}, 1});
  return agents;
}

}  // namespace

Trained train(const Assignment& job, const Plan& plan, const TrainOptions& options) {
  set_cpu_threads(1);
  const Assignment assignment = generation(job, 1, plan, agents_of(plan));
  const std::string host = own_address();
  const auto store = RendezvousServer::listen(host, kStorePort);
  if (!store) throw std::runtime_error(store.error().message);
  Trained trained;
  std::mutex mutex;
  std::vector<std::exception_ptr> failures;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < gpu_count(plan); ++rank) {
    threads.emplace_back([&, rank] {
      set_cpu_threads(1);
      try {
        TrainingWorker worker(assignment, rank, host, options);
        const TensorMemory tensors;
        auto losses = worker.run();
        const std::lock_guard lock(mutex);
        trained.peak_bytes[rank] = tensors.peak();
        trained.microbatch_seconds[rank] = worker.microbatch_seconds();
        if (rank == 0) trained.losses = std::move(losses);
        worker.hand_over(trained.weights);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failures.push_back(std::current_exception());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (!failures.empty()) std::rethrow_exception(failures.front());
  return trained;
}

Difference difference(const Assignment& job, const Trained& a, const Trained& b) {
  Difference worst;
  for (std::size_t step = 0; step < b.losses.size(); ++step) {
    const double apart = std::abs(a.losses.at(step) - b.losses[step]) / b.losses[step];
    if (!(apart <= worst.loss)) worst.loss = apart;  // also where it is not a number
  }
  for (const int id : all_layer_states(job.model)) {
    for (const TensorLayout& layout : layout_of(job.model, id).tensors) {
      if (layout.name == "attention.key.bias") continue;  // its true gradient is zero: only rounding moves it
      double largest = 0, apart = 0;
      for (auto i = static_cast<std::size_t>(layout.offset);
           i < static_cast<std::size_t>(layout.offset + layout.size()); ++i) {
        largest = std::max<double>(largest, std::abs(b.weights.at(id)[i]));
        const double distance = std::abs(a.weights.at(id)[i] - b.weights.at(id)[i]);
        if (!(distance <= apart)) apart = distance;
      }
      if (!(apart <= worst.weights * largest))
        worst = {worst.loss, apart / largest, fmt::format("{} of layer state {}", layout.name, id)};
    }
  }
  return worst;
}

void expect_same_learning(const Assignment& job, const Plan& plan) {
  Assignment alone = job;
  alone.schedule_times.reset();  // they are the plan's
  const Trained reference = train(alone, plan_of(job, {{0, job.model.layer_count(), {plan.microbatches()}}}));
  const Difference apart = difference(job, train(job, plan), reference);
  ASSERT_EQ(std::ssize(reference.losses), job.training.steps);
  EXPECT_LT(reference.losses.back(), 0.8 * reference.losses.front()) << "nothing was learned";
  EXPECT_LE(apart.loss, kLossTolerance);
  EXPECT_LE(apart.weights, kWeightTolerance) << apart.tensor;
}

}  // namespace sailor::trainer::testing
