// StageModel: runs the layers of one pipeline stage forward and backward, one microbatch at a time.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/model/job_spec.h"
#include "trainer/model/layers.h"
#include "trainer/model/loss.h"
#include "trainer/model/parameters.h"

namespace sailor::trainer {

struct StageShape {
  ModelSpec spec;
  int first_layer = 0;  // the stage has the layers [first_layer, last_layer)
  int last_layer = 0;
  bool recompute = false;  // activation checkpointing: keep only the input of each block, and compute the rest again
  Precision precision = Precision::kFp32;

  [[nodiscard]] bool has_embedding() const { return first_layer == 0; }
  [[nodiscard]] bool has_head() const { return last_layer == spec.layer_count(); }
};

class StageModel {
 public:
  // In FP32 without a sharded optimizer the model computes directly with the weights of the states and shares their
  // memory. Otherwise it has its own weights, which step/weight_sync.h copies from the states.
  StageModel(StageShape shape, const LayerStates& states, TensorParallel group = {});

  // The input of the first stage is token ids. The input of every other stage is the output of the previous stage (with
  // sequence parallelism, a part of the tokens). The output of the last stage is the sum of the losses of the
  // microbatch's tokens; only this stage needs `targets`. The model keeps the activations for backward() under the
  // number `microbatch`. The last stage also computes the gradients of the loss here (loss.h).
  at::Tensor forward(int microbatch, const at::Tensor& input, const LossTargets& targets);

  // Computes the same output, but does not keep activations for a backward pass.
  [[nodiscard]] at::Tensor infer(const at::Tensor& input, const at::Tensor& targets) const;

  // Adds the gradients of the microbatch to those of the parameters, and frees the activations of the microbatch. Takes
  // the gradient of the output, which the last stage ignores. Returns the gradient of the input, which is undefined on
  // the first stage. Calls `on_layer` after each layer, beginning with the last layer.
  at::Tensor backward(int microbatch, const at::Tensor& output_gradient,
                      const std::function<void(int layer)>& on_layer = {});

  void clear_gradients();  // sets the gradients to zero and drops activations that are left from an interrupted step
  [[nodiscard]] std::map<int, Parameters>& parameters() { return parameters_; }
  [[nodiscard]] const std::map<int, Parameters>& parameters() const { return parameters_; }
  [[nodiscard]] const StageShape& shape() const { return shape_; }
  [[nodiscard]] const TensorParallel& group() const { return context_.group; }

  // Returns the layer states whose gradients are complete after the backward pass of this layer, descending.
  [[nodiscard]] std::vector<int> layer_states_complete_after(int layer) const;

  // Run one layer only, for the profiler. The output of the last layer is what head_loss() takes.
  [[nodiscard]] at::Tensor layer_forward(int layer, const at::Tensor& input) const;
  [[nodiscard]] LossWithGradient head_loss(const at::Tensor& hidden, const LossTargets& targets) const;

 private:
  // The autograd graph of one layer. Each layer has its own graph, so that its gradients are complete early.
  struct Segment {
    int layer = 0;
    at::Tensor input;
    at::Tensor output;  // undefined if the backward pass computes it again
  };
  struct Activations {
    std::vector<Segment> segments;
    at::Tensor loss_gradient;  // of the last segment's output, if the stage computes the loss
  };

  [[nodiscard]] bool is_recomputed(int layer) const;
  void collect_gradients(int layer);
  [[nodiscard]] const Parameters* find(int layer_state) const;
  [[nodiscard]] OutputWeights output_weights() const;
  [[nodiscard]] std::int64_t tokens_of_loss_chunk(const at::Tensor& targets) const;

  StageShape shape_;
  LayerContext context_;
  std::map<int, Parameters> parameters_;    // keyed by id of the layer state
  std::map<int, Activations> activations_;  // keyed by microbatch
};

at::ScalarType scalar_type_of(Precision precision);

}  // namespace sailor::trainer
