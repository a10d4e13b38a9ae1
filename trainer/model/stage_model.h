// StageModel: the layers of one stage, forward and backward, one microbatch at a time.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/model/job_spec.h"
#include "trainer/model/layers.h"
#include "trainer/model/parameters.h"

namespace sailor::trainer {

struct StageShape {
  ModelSpec spec;
  int first_layer = 0;
  int last_layer = 0;
  bool recompute = false;  // activation checkpointing: keep each block's input only, compute the rest again
  Precision precision = Precision::kFp32;

  [[nodiscard]] bool has_embedding() const { return first_layer == 0; }
  [[nodiscard]] bool has_head() const { return last_layer == spec.layer_count(); }
};

class StageModel {
 public:
  // Computes with the states' own weights where they are all that it needs, in its precision; else with weights of its
  // own, which whoever updates the states has to bring up to date (step/weight_sync.h).
  StageModel(StageShape shape, const LayerStates& states, TensorParallel group = {});

  // The first stage's input are tokens, the others' the previous stage's output (with sequence parallelism a share).
  // The last stage's output is the sum of the losses of the microbatch's tokens; it needs their targets. What backward
  // needs is kept under `microbatch`.
  at::Tensor forward(int microbatch, const at::Tensor& input, const at::Tensor& targets);

  // The same without anything kept: no backward pass follows.
  [[nodiscard]] at::Tensor infer(const at::Tensor& input, const at::Tensor& targets) const;

  // Adds the microbatch's gradients to the parameters' and forgets what was kept of it. Takes the gradient of the
  // output (of the last stage: what the loss is multiplied with), gives that of the input (undefined on the first).
  // `on_layer` is called after each layer, the last one first.
  at::Tensor backward(int microbatch, const at::Tensor& output_gradient,
                      const std::function<void(int layer)>& on_layer = {});

  void clear_gradients();
  [[nodiscard]] std::map<int, Parameters>& parameters() { return parameters_; }
  [[nodiscard]] const std::map<int, Parameters>& parameters() const { return parameters_; }
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }
  [[nodiscard]] const StageShape& shape() const { return shape_; }
  [[nodiscard]] const TensorParallel& group() const { return context_.group; }

  // The layer states whose gradients are complete once a backward pass has come through this layer, descending.
  [[nodiscard]] std::vector<int> layer_states_complete_after(int layer) const;

  // One layer alone, as the profiler times it.
  [[nodiscard]] at::Tensor layer_forward(int layer, const at::Tensor& input, const at::Tensor& targets) const;

 private:
  struct Segment {  // one layer's part of the graph: differentiated on its own, so that its gradients are known early
    int layer = 0;
    at::Tensor input;
    at::Tensor output;  // undefined where it is computed again
  };
  struct Kept {
    std::vector<Segment> segments;
    at::Tensor targets;
  };

  [[nodiscard]] bool is_recomputed(int layer) const;
  void collect_gradients(int layer);
  [[nodiscard]] const Parameters* find(int layer_state) const;

  StageShape shape_;
  LayerContext context_;
  std::map<int, Parameters> parameters_;  // by id of the layer state
  std::map<int, Kept> kept_;              // by microbatch
};

at::ScalarType scalar_type_of(Precision precision);

}  // namespace sailor::trainer
