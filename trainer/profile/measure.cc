#include "trainer/profile/measure.h"

#include <algorithm>
#include <functional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "trainer/model/stage_model.h"
#include "trainer/optim/adamw.h"
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

PieceStates initial_states(const ModelSpec& spec) {
  PieceStates states;
  for (const int id : all_pieces(spec)) states[id] = initial_state(spec, piece_of(spec, id), 1);
  return states;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// One microbatch through all layers, one at a time; adds each layer's times to the sums.
class Pass {
 public:
  Pass(const ModelSpec& spec, int microbatch_size, int sequence_length)
      : spec_(spec),
        states_(initial_states(spec)),
        model_({.spec = spec, .first_layer = 0, .last_layer = spec.layer_count()}, states_),
        tokens_(at::randint(spec.vocab_size, {microbatch_size, sequence_length}, at::kLong)),
        sums_(static_cast<std::size_t>(spec.layer_count())) {}

  void run() {
    forward();
    backward();
    update();
    ++passes_;
  }

  void forget() {
    std::ranges::fill(sums_, LayerTime{});
    passes_ = 0;
  }

  [[nodiscard]] int passes() const { return passes_; }

  // Of each layer: what a forward pass leaves behind for the backward pass, its output with it.
  [[nodiscard]] std::vector<LayerMemory> memory() {
    const TensorMemory tensors;
    std::vector<LayerMemory> layers;
    std::int64_t before = 0;
    forward([&](int layer, const at::Tensor& output) {
      const auto samples = static_cast<double>(tokens_.size(0));
      const bool is_head = layer_kind(spec_, layer) == LayerKind::kHead;
      layers.push_back({.parameters = static_cast<double>(layer_parameters(spec_, layer)),
                        .activations_per_sample = Bytes(static_cast<double>(tensors.held() - before) / samples),
                        .output_per_sample = Bytes(is_head ? 0 : static_cast<double>(output.nbytes()) / samples)});
      before = tensors.held();
    });
    inputs_.clear();
    outputs_.clear();
    return layers;
  }

  [[nodiscard]] std::vector<LayerTime> means() const {
    std::vector<LayerTime> means = sums_;
    for (LayerTime& time : means) {
      time = {time.forward / passes_, time.backward / passes_, time.update / passes_};
    }
    return means;
  }

 private:
  void forward(const std::function<void(int layer, const at::Tensor& output)>& on_layer = {}) {
    inputs_.clear();
    outputs_.clear();
    for (int layer = 0; layer < spec_.layer_count(); ++layer) {
      at::Tensor input = layer == 0 ? tokens_ : outputs_.back().detach().requires_grad_();
      const auto begin = Clock::now();
      at::Tensor output = model_.layer_forward(layer, input, tokens_);
      sum(layer).forward += Seconds(seconds_since(begin));
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
      torch::autograd::backward({outputs_[index]}, {gradient});
      sum(layer).backward += Seconds(seconds_since(begin));
      gradient = inputs_[index].grad();
    }
  }

  // What a worker does with a piece once a step: clear its gradient, its part of the norm, the optimizer. The token
  // embedding and the positions are layer 0; a tied head's copy counts where it is first held.
  void update() {
    for (auto& [id, piece] : model_.pieces()) {
      const auto begin = Clock::now();
      (void)piece.gradient().square().sum(at::kDouble).item<double>();
      apply_adamw(states_.at(id), piece.gradient(), {.steps = 1}, 1, 1);
      piece.gradient().zero_();
      sum(std::max(id - 1, 0)).update += Seconds(seconds_since(begin));
    }
  }

  LayerTime& sum(int layer) { return sums_[static_cast<std::size_t>(layer)]; }

  ModelSpec spec_;
  PieceStates states_;
  StageModel model_;
  at::Tensor tokens_;
  std::vector<at::Tensor> inputs_, outputs_;
  std::vector<LayerTime> sums_;
  int passes_ = 0;
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

}  // namespace

ModelProfile measure(const MeasureRequest& request) {
  ModelProfile profile{.model = request.model.name,
                       .accelerator = request.accelerator,
                       .precision = Precision::kFp32,
                       .sequence_length = request.sequence_length,
                       .times = {},
                       .memory = {},
                       .source = {}};
  for (const int size : request.microbatch_sizes) {
    Pass pass(shortened(request.model), size, request.sequence_length);
    for (int i = 0; i < kWarmUpPasses; ++i) pass.run();
    pass.forget();
    const auto begin = Clock::now();
    while (pass.passes() < kLeastPasses || Clock::now() - begin < request.time) pass.run();
    profile.memory[1] = spread(pass.memory(), request.model);  // of the last size, the largest
    profile.times[{.microbatch_size = size, .tensor_parallel = 1}] = spread(pass.means(), request.model);
  }
  return profile;
}

}  // namespace sailor::trainer
