#include "trainer/profile/measure.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/model/tensor_parallel.h"
#include "trainer/model/stage_model.h"
#include "trainer/optim/adamw.h"
#include "trainer/profile/local_group.h"
#include "trainer/profile/mute_group.h"
#include "trainer/profile/pass_times.h"
#include "trainer/profile/tensor_memory.h"

namespace sailor::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBlocksMeasured = 2;
constexpr int kWarmUpPasses = 2;  // first touches of memory, and kernels that are chosen on first use
constexpr int kLeastPasses = 5;

// The model with as many blocks as are measured: larger ones than memory holds can be profiled so.
ModelSpec shortened(ModelSpec spec) {
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

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One microbatch through all layers, one at a time, each of them timed.
class Pass {
 public:
  Pass(const MeasureRequest& request, int microbatch_size, const TensorParallel& group)
      : spec_(shortened(request.model)),
        states_(initial_states(spec_, group.rank())),
        model_({.spec = spec_, .first_layer = 0, .last_layer = spec_.layer_count(), .precision = request.precision},
               states_, group),
        // The same on all workers of a group: an element's value is its place.
        tokens_(at::arange(microbatch_size * request.sequence_length, at::kLong)
                    .remainder(spec_.vocab_size)
                    .view({microbatch_size, request.sequence_length})),
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

  // Of each layer: what a forward pass leaves behind for the backward pass, its output with it.
  [[nodiscard]] std::vector<LayerMemory> memory() {
    times_.begin_pass();
    const TensorMemory tensors;
    std::vector<LayerMemory> layers;
    std::int64_t before = 0;
    forward([&](int layer, const at::Tensor& output) {
      const auto samples = static_cast<double>(tokens_.size(0));
      layers.push_back({.parameters = parameters_of(layer),
                        .activations_per_sample = Bytes(static_cast<double>(tensors.held() - before) / samples),
                        .output_per_sample = Bytes(static_cast<double>(bytes_of_output(layer, output)) / samples)});
      before = tensors.held();
    });
    inputs_.clear();
    outputs_.clear();
    return layers;
  }

 private:
  void forward(const std::function<void(int layer, const at::Tensor& output)>& on_layer = {}) {
    inputs_.clear();
    outputs_.clear();
    for (int layer = 0; layer < spec_.layer_count(); ++layer) {
      at::Tensor input = layer == 0 ? tokens_ : outputs_.back().detach().requires_grad_();
      const auto begin = Clock::now();
      at::Tensor output = model_.layer_forward(layer, input, tokens_);
      times_.of(layer).forward += Seconds(seconds_since(begin));
      inputs_.push_back(std::move(input));
      outputs_.push_back(std::move(output));
      if (on_layer) on_layer(layer, outputs_.back());
    }
  }

  void backward() {
    at::Tensor gradient = at::ones({});
    for (int layer = spec_.layer_count() - 1; layer >= 0; --layer) {
      const auto index = static_cast<std::size_t>(layer);
      const auto begin = Clock::now();
      torch::autograd::backward({std::exchange(outputs_[index], {})}, {gradient});  // a worker too keeps nothing of it
      times_.of(layer).backward += Seconds(seconds_since(begin));
      gradient = inputs_[index].grad();
    }
  }

  // What a worker does with a layer state once a step: clear its gradient, its part of the norm, the optimizer. The
  // token embedding and the positions are layer 0; a tied head's copy counts where it is first held.
  void update() {
    for (auto& [id, layer_state] : model_.parameters()) {
      const auto begin = Clock::now();
      (void)layer_state.gradient().square().sum(at::kDouble).item<double>();
      apply_adamw(states_.at(id), layer_state.gradient(), {.steps = 1}, 1, 1);
      layer_state.gradient().zero_();
      times_.of(std::max(id - 1, 0)).update += Seconds(seconds_since(begin));
    }
  }

  // Weights that are not the states themselves: the model begins with what they are.
  void round_weights() {
    for (auto& [id, layer_state] : model_.parameters()) layer_state.weights().copy_(states_.at(id).weights);
  }

  // What a replica sends to the next stage, all shares together where tokens are dealt.
  [[nodiscard]] std::size_t bytes_of_output(int layer, const at::Tensor& output) const {
    if (layer_kind(spec_, layer) == LayerKind::kHead) return 0;
    return output.nbytes() *
           (model_.group().deals_tokens() ? static_cast<std::size_t>(model_.group().rank().tensor_parallel) : 1);
  }

  // Held by one worker; a tied head needs a copy of the token embedding where it is on another stage.
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
  PassTimes times_;
};

// Every block's memory is the first one's.
std::vector<LayerMemory> spread(const std::vector<LayerMemory>& measured, const ModelSpec& spec) {
  std::vector<LayerMemory> memory(static_cast<std::size_t>(spec.layer_count()), measured.at(1));
  memory.front() = measured.front();
  memory.back() = measured.back();
  return memory;
}

// The measured layers' times at the places of all the model's layers: every block gets the measured blocks' mean.
std::vector<LayerTime> spread(const std::vector<LayerTime>& measured, const ModelSpec& spec) {
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

struct Timed {
  std::vector<LayerTime> times;
  double share_of_core = 0;  // of the measured thread
};

// How many passes all workers of a group make: each makes as many as the first says.
int agreed(int passes, int rank, Group* group) {
  if (group == nullptr) return passes;
  const at::Tensor sum = at::full({1}, rank == 0 ? passes : 0, at::kDouble);
  group->sum(sum);
  return static_cast<int>(sum.item<double>());
}

Timed timed(const MeasureRequest& request, int size, const TensorParallel& tensor_parallel, Group* group) {
  Pass pass(request, size, tensor_parallel);
  const auto begin = Clock::now();
  for (int i = 0; i < kWarmUpPasses; ++i) pass.run();
  const double seconds_of_pass = seconds_since(begin) / kWarmUpPasses;
  const double wanted = std::chrono::duration<double>(request.time).count() / seconds_of_pass;
  const int passes = agreed(std::max(kLeastPasses, static_cast<int>(wanted)), tensor_parallel.rank().index, group);
  pass.times().forget();
  const auto measuring = Clock::now();
  const double processor_before = processor_seconds();
  while (pass.times().passes() < passes) pass.run();
  const double share = (processor_seconds() - processor_before) / seconds_since(measuring);
  return {spread(pass.times().typical(), request.model), share};
}

bool deals_tokens(const MeasureRequest& request) {
  return request.sequence_parallelism == SequenceParallelism::kAlways;
}

// Of the first worker; the others, which have as much to do, wait for it and it for them.
Timed timed(const MeasureRequest& request, ProfilePoint point) {
  if (point.tensor_parallel == 1) return timed(request, point.microbatch_size, TensorParallel(), nullptr);
  Timed result;
  const LocalGroup local{.host = request.host, .size = point.tensor_parallel, .threads = request.threads};
  in_local_group(local, [&](int rank, Group& group) {
    const TensorParallel tensor_parallel(group, {rank, point.tensor_parallel}, deals_tokens(request));
    Timed mine = timed(request, point.microbatch_size, tensor_parallel, &group);
    if (rank == 0) result = std::move(mine);
  });
  return result;
}

// Of one worker, which needs no others for it.
std::vector<LayerMemory> memory_of(const MeasureRequest& request, ProfilePoint point) {
  MuteGroup group(point.tensor_parallel);
  const TensorParallel tensor_parallel(group, {0, point.tensor_parallel}, deals_tokens(request));
  Pass pass(request, point.microbatch_size, tensor_parallel);
  pass.run();  // what is made on first use is no activation
  return spread(pass.memory(), request.model);
}

}  // namespace

Result<void> check_degrees(const MeasureRequest& request) {
  const int most = max_tensor_parallel(request.model);
  for (const int degree : request.degrees) {
    if (degree > most) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the layers of {} can be split over {} workers at most, not {}", request.model.name, most,
                              degree));
    }
    if (deals_tokens(request) && request.sequence_length % degree != 0) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("a group of {} cannot deal the {} tokens of a sequence evenly", degree, request.sequence_length));
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
  for (const int degree : request.degrees) {
    for (const int size : request.microbatch_sizes) {
      const ProfilePoint point{.microbatch_size = size, .tensor_parallel = degree};
      Timed figures = timed(request, point);
      result.profile.times[point] = std::move(figures.times);
      if (degree == 1) result.share_of_core = std::min(result.share_of_core, figures.share_of_core);
    }
    const ProfilePoint last{.microbatch_size = request.microbatch_sizes.back(), .tensor_parallel = degree};
    result.profile.memory[degree] = memory_of(request, last);  // a sample's, of the last size
  }
  return result;
}

}  // namespace sailor::trainer
