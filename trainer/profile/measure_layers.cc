#include "trainer/profile/measure_layers.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/model/tensor_parallel.h"
#include "trainer/device/device.h"
#include "trainer/model/stage_model.h"
#include "trainer/optim/adamw.h"
#include "trainer/profile/local_group.h"
#include "trainer/profile/no_op_group.h"
#include "trainer/profile/pass_times.h"
#include "trainer/profile/tensor_memory.h"

namespace sailor::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBlocksMeasured = 2;
constexpr int kWarmUpPasses = 2;  // memory is first touched, and kernels are chosen on first use
constexpr int kMinPasses = 5;

// Returns the model with only the blocks that are measured, so that models larger than memory can be profiled.
ModelSpec with_few_blocks(ModelSpec spec) {
  spec.blocks = std::min(spec.blocks, kBlocksMeasured);
  return spec;
}

LayerStates initial_states(const ModelSpec& spec, TensorParallelRank place) {
  LayerStates states;
  for (const int id : all_layer_states(spec)) {
    const StateLayout whole = layout_of(spec, id);
    states[id] = initial_state(spec, shard_of(whole, shard_slices(whole, place)), 1);
  }
  return states;
}

// Returns the time at which the device has done its work so far.
Clock::time_point now_on_device() {
  wait_for_compute_device();
  return Clock::now();
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(now_on_device() - begin).count(); }

double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Runs one microbatch through all layers and measures each layer by itself.
class MeasuredPass {
 public:
  MeasuredPass(const MeasureRequest& request, int microbatch_size, const TensorParallel& group)
      : spec_(with_few_blocks(request.model)),
        states_(initial_states(spec_, group.rank())),
        model_({.spec = spec_, .first_layer = 0, .last_layer = spec_.layer_count(), .precision = request.precision},
               states_, group),
        // The same on all workers of a group: token n has the value n, modulo the vocabulary.
        tokens_(at::arange(microbatch_size * request.sequence_length, at::kLong)
                    .remainder(spec_.vocab_size)
                    .view({microbatch_size, request.sequence_length})
                    .to(compute_device())),
        times_(spec_.layer_count()) {
    if (request.precision != Precision::kFp32) round_weights();
  }

  void run() {
    times_.begin_pass();
    forward();
    backward();
    update();
  }

  [[nodiscard]] PassTimes& times() { return times_; }

  // Returns for each layer the memory that a forward pass keeps for the backward pass, its output included. The last
  // layer keeps the gradient of the loss.
  [[nodiscard]] std::vector<LayerMemory> memory() {
    times_.begin_pass();
    const TensorMemory tensors;
    std::vector<LayerMemory> layers;
    std::int64_t before = 0;
    forward([&](int layer, const at::Tensor& output) {
      const auto samples = static_cast<double>(tokens_.size(0));
      layers.push_back({.parameters = parameters_of(layer),
                        .activations_per_sample = Bytes(static_cast<double>(tensors.allocated() - before) / samples),
                        .output_per_sample = Bytes(static_cast<double>(bytes_of_output(layer, output)) / samples)});
      before = tensors.allocated();
    });
    inputs_.clear();
    outputs_.clear();
    loss_gradient_.reset();
    return layers;
  }

 private:
  void forward(const std::function<void(int layer, const at::Tensor& output)>& on_layer = {}) {
    inputs_.clear();
    outputs_.clear();
    loss_gradient_.reset();
    for (int layer = 0; layer < spec_.layer_count(); ++layer) {
      at::Tensor input = layer == 0 ? tokens_ : outputs_.back().detach().requires_grad_();
      const auto begin = now_on_device();
      at::Tensor output = model_.layer_forward(layer, input);
      if (layer_kind(spec_, layer) == LayerKind::kHead)
        loss_gradient_ = model_.head_loss(output, {.tokens = tokens_}).gradient;
      times_.layer(layer).forward += Seconds(seconds_since(begin));
      inputs_.push_back(std::move(input));
      outputs_.push_back(std::move(output));
      if (on_layer) on_layer(layer, outputs_.back());
    }
  }

  void backward() {
    at::Tensor gradient = std::move(loss_gradient_);
    for (int layer = spec_.layer_count() - 1; layer >= 0; --layer) {
      const auto index = static_cast<std::size_t>(layer);
      const auto begin = now_on_device();
      // The exchange frees the activations, as in a training step.
      torch::autograd::backward({std::exchange(outputs_[index], {})}, {gradient});
      times_.layer(layer).backward += Seconds(seconds_since(begin));
      gradient = inputs_[index].grad();
    }
  }

  // Does what a worker does once per step with each layer state: clear the gradient, compute its part of the gradient
  // norm, run the optimizer. The token and position embeddings count as layer 0. Tied embeddings count once, there.
  void update() {
    for (auto& [id, parameters] : model_.parameters()) {
      const auto begin = now_on_device();
      (void)parameters.gradient().square().sum(at::kDouble).item<double>();
      apply_adamw(states_.at(id), parameters.gradient(), {.steps = 1}, 1, 1);
      parameters.gradient().zero_();
      times_.layer(std::max(id - 1, 0)).update += Seconds(seconds_since(begin));
    }
  }

  // In a precision below FP32 the model computes with rounded weights of its own, which start as copies of the state.
  void round_weights() {
    for (auto& [id, parameters] : model_.parameters()) parameters.weights().copy_(states_.at(id).weights);
  }

  // Returns what a replica sends to the next stage. With sequence parallelism this is the sum over its workers.
  [[nodiscard]] std::size_t bytes_of_output(int layer, const at::Tensor& output) const {
    if (layer_kind(spec_, layer) == LayerKind::kHead) return 0;
    return output.nbytes() * (model_.group().is_sequence_parallel()
                                  ? static_cast<std::size_t>(model_.group().rank().tensor_parallel)
                                  : 1);
  }

  // Returns the parameters that one worker holds. A tied head needs a copy of the token embedding if it is on another
  // stage.
  [[nodiscard]] double parameters_of(int layer) const {
    std::int64_t sum = 0;
    const LayerKind kind = layer_kind(spec_, layer);
    const bool needs_tokens = kind == LayerKind::kEmbedding || (kind == LayerKind::kHead && spec_.tied_embeddings);
    if (needs_tokens) sum += states_.at(kTokenEmbedding).layout.size;
    if (const auto layer_state = states_.find(layer_state_of(layer)); layer_state != states_.end())
      sum += layer_state->second.layout.size;
    return static_cast<double>(sum);
  }

  ModelSpec spec_;
  LayerStates states_;
  StageModel model_;
  at::Tensor tokens_;
  std::vector<at::Tensor> inputs_, outputs_;
  at::Tensor loss_gradient_;
  PassTimes times_;
};

// Returns the memory of all layers of the model: every block has that of the first measured block.
std::vector<LayerMemory> extrapolate(const std::vector<LayerMemory>& measured, const ModelSpec& spec) {
  std::vector<LayerMemory> memory(static_cast<std::size_t>(spec.layer_count()), measured.at(1));
  memory.front() = measured.front();
  memory.back() = measured.back();
  return memory;
}

// Returns the times of all layers of the model: every block has the mean of the measured blocks.
std::vector<LayerTime> extrapolate(const std::vector<LayerTime>& measured, const ModelSpec& spec) {
  LayerTime block;
  const double blocks = static_cast<double>(measured.size()) - 2;
  for (std::size_t i = 1; i + 1 < measured.size(); ++i) {
    block.forward += measured[i].forward / blocks;
    block.backward += measured[i].backward / blocks;
    block.update += measured[i].update / blocks;
  }
  std::vector<LayerTime> times(static_cast<std::size_t>(spec.layer_count()), block);
  times.front() = measured.front();
  times.back() = measured.back();
  return times;
}

struct Timing {
  std::vector<LayerTime> times;
  double cpu_utilization = 0;  // CPU time of the measured thread as a fraction of the elapsed time
};

// Returns the number of passes for all workers of a group, which the first worker decides.
int agree_on_passes(int passes, int rank, Group* group) {
  if (group == nullptr) return passes;
  const at::Tensor sum = at::full({1}, rank == 0 ? passes : 0, at::kDouble);
  group->all_reduce(sum);
  return static_cast<int>(sum.item<double>());
}

Timing measure_times(const MeasureRequest& request, int size, const TensorParallel& tensor_parallel, Group* group) {
  MeasuredPass pass(request, size, tensor_parallel);
  const auto begin = Clock::now();
  for (int i = 0; i < kWarmUpPasses; ++i) pass.run();
  const double seconds_per_pass = seconds_since(begin) / kWarmUpPasses;
  const double wanted = std::chrono::duration<double>(request.time).count() / seconds_per_pass;
  const int passes =
      agree_on_passes(std::max(kMinPasses, static_cast<int>(wanted)), tensor_parallel.rank().index, group);
  pass.times().clear();
  const auto measuring = Clock::now();
  const double cpu_before = thread_cpu_seconds();
  while (pass.times().passes() < passes) pass.run();
  const double share = (thread_cpu_seconds() - cpu_before) / seconds_since(measuring);
  return {extrapolate(pass.times().trimmed_means(), request.model), share};
}

bool has_sequence_parallelism(const MeasureRequest& request) {
  return request.sequence_parallelism == SequenceParallelism::kAlways;
}

// Returns the times of the first worker. The others have as much to do; they wait for it, and it waits for them.
Timing measure_times(const MeasureRequest& request, ProfilePoint point) {
  if (point.tensor_parallel == 1) return measure_times(request, point.microbatch_size, TensorParallel(), nullptr);
  Timing result;
  const LocalGroupOptions local{.host = request.host, .size = point.tensor_parallel, .threads = request.threads};
  run_local_group(local, [&](int rank, Group& group) {
    const TensorParallel tensor_parallel(group, {rank, point.tensor_parallel}, has_sequence_parallelism(request));
    Timing mine = measure_times(request, point.microbatch_size, tensor_parallel, &group);
    if (rank == 0) result = std::move(mine);
  });
  return result;
}

// Measures the memory of one worker of a group, without the others.
std::vector<LayerMemory> measure_memory(const MeasureRequest& request, ProfilePoint point) {
  NoOpGroup group(point.tensor_parallel);
  const TensorParallel tensor_parallel(group, {0, point.tensor_parallel}, has_sequence_parallelism(request));
  MeasuredPass pass(request, point.microbatch_size, tensor_parallel);
  pass.run();  // memory that is allocated on first use does not count as an activation
  return extrapolate(pass.memory(), request.model);
}

}  // namespace

Result<void> check_sizes(const MeasureRequest& request) {
  if (const auto longest = request.model.longest_sequence(); longest && request.sequence_length > *longest) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a sequence of {} tokens is longer than the {} positions of model {}; measure shorter ones",
                            request.sequence_length, *longest, request.model.name));
  }
  const int most = max_tensor_parallel(request.model);
  for (const int tensor_parallel : request.tensor_parallel_sizes) {
    if (tensor_parallel > 1 && !compute_device().is_cpu()) {
      return fail(ErrorCode::kInvalidArgument,
                  "the workers of a group are threads of one process, which has one GPU, so only --degrees 1 can be "
                  "measured on GPUs");
    }
    if (tensor_parallel > most) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the layers of {} can be split over at most {} workers, not over {}", request.model.name,
                              most, tensor_parallel));
    }
    if (has_sequence_parallelism(request) && request.sequence_length % tensor_parallel != 0) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{} workers cannot divide the {} tokens of a sequence evenly, as sequence parallelism requires",
                      tensor_parallel, request.sequence_length));
    }
  }
  return {};
}

Measurement measure(const MeasureRequest& request) {
  Measurement result{.profile = {.model = request.model.name,
                                 .accelerator = request.accelerator,
                                 .precision = request.precision,
                                 .sequence_length = request.sequence_length,
                                 .sequence_parallelism = request.sequence_parallelism,
                                 .times = {},
                                 .memory = {},
                                 .source = {}}};
  for (const int tensor_parallel : request.tensor_parallel_sizes) {
    for (const int size : request.microbatch_sizes) {
      const ProfilePoint point{.microbatch_size = size, .tensor_parallel = tensor_parallel};
      Timing figures = measure_times(request, point);
      result.profile.times[point] = std::move(figures.times);
      if (tensor_parallel == 1) result.cpu_utilization = std::min(result.cpu_utilization, figures.cpu_utilization);
    }
    const ProfilePoint last{.microbatch_size = request.microbatch_sizes.back(), .tensor_parallel = tensor_parallel};
    result.profile.memory[tensor_parallel] =
        measure_memory(request, last);  // memory per sample, measured with the last size
  }
  return result;
}

}  // namespace sailor::trainer
