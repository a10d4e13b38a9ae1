// StageModel: the layers of one stage, forward and backward, one microbatch at a time.
#pragma once

#include <map>
#include <vector>

#include "trainer/model/parameters.h"

namespace sailor::trainer {

struct StageShape {
  ModelSpec spec;
  int first_layer = 0;
  int last_layer = 0;
  bool recompute = false;  // activation checkpointing: keep each layer's input only, compute the rest again

  [[nodiscard]] bool has_embedding() const { return first_layer == 0; }
  [[nodiscard]] bool has_head() const { return last_layer == spec.layer_count(); }
};

class StageModel {
 public:
  StageModel(StageShape shape, const PieceStates& states);  // shares the states' memory

  // The first stage's input are tokens, the others' the previous stage's output. The last stage's output is the sum of
  // the losses of the microbatch's tokens; it needs their targets. What backward needs is kept under `microbatch`.
  at::Tensor forward(int microbatch, const at::Tensor& input, const at::Tensor& targets);

  // Adds the microbatch's gradients to the parameters' and forgets what was kept of it. Takes the gradient of the
  // output (of the last stage: what the loss is multiplied with), gives that of the input (undefined on the first).
  at::Tensor backward(int microbatch, const at::Tensor& output_gradient);

  void clear_gradients();
  [[nodiscard]] std::map<int, Parameters>& pieces() { return pieces_; }
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }
  [[nodiscard]] const StageShape& shape() const { return shape_; }

  // One layer alone, as the profiler times it.
  [[nodiscard]] at::Tensor layer_forward(int layer, const at::Tensor& input, const at::Tensor& targets) const;

 private:
  struct Segment {  // a piece of the graph that is differentiated at once
    int first_layer = 0;
    int last_layer = 0;
    at::Tensor input;
    at::Tensor output;  // undefined where it is computed again
  };
  struct Kept {
    std::vector<Segment> segments;
    at::Tensor targets;
  };

  [[nodiscard]] at::Tensor run(const Segment& segment, const at::Tensor& targets) const;
  [[nodiscard]] const Parameters* find(int piece) const;

  StageShape shape_;
  std::map<int, Parameters> pieces_;
  std::map<int, Kept> kept_;  // by microbatch
};

}  // namespace sailor::trainer
