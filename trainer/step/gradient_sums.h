// GradientSums: sums the gradients of each layer state over all workers that compute with the same elements (data
// parallelism). The result is a sum and not a mean, because TrainingStep divides the loss by the tokens of the whole
// batch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "trainer/model/stage_model.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

// A sum starts as soon as this worker's own gradient is complete. So it overlaps with the backward passes of the layers
// before it. If the optimizer is sharded, each worker receives only the sum of the slices that it updates
// (reduce-scatter). For each step call begin(), then start() for each layer state, then finish().
class GradientSums {
 public:
  // All arguments outlive this object.
  GradientSums(const Roster& roster, int rank, TrainingGroups& groups, StageModel& model);

  // start() or finish() calls this function for each layer state when its sum is complete. The gradient stays valid
  // until the next step.
  using OnComplete = std::function<void(int layer_state, const at::Tensor& gradient)>;

  void begin(OnComplete on_complete);  // starts a step
  void start(int layer_state);         // workers that hold common units must start them in the same order
  void finish();                       // waits for all sums

  // Returns the summed gradient of this worker's held shard (Roster::held_shard) of the layer state.
  [[nodiscard]] const at::Tensor& of(int layer_state) const { return layer_states_.at(layer_state).held_gradient; }

  // Returns the squared norm of the gradient of this worker's saved slices (Roster::saved_slices). The sum over all
  // workers contains every element of the model once.
  // It is a scalar on the compute device, for which the host does not wait.
  [[nodiscard]] at::Tensor squared_norm_of_saved() const;

 private:
  struct Sum {  // the sum of one transfer unit
    Group* group = nullptr;
    std::vector<StridedSpan> spans;  // place in the computed shard
    std::vector<std::vector<StridedSpan>>
        spans_by_holder;                 // the same, by holder; empty unless the optimizer is sharded
    std::vector<StridedSpan> own_spans;  // place in the held shard
  };
  struct LayerSums {
    // Tensors of which all workers of the tensor-parallel group have the same gradient.
    std::vector<StridedSpan> replicated;
    std::vector<Sum> sums;
    std::vector<StridedSpan> saved;  // saved slices in the held shard
    at::Tensor held_gradient;
  };
  struct Pending {
    int layer_state = 0;
    at::Tensor message;
    at::Tensor target;
    const std::vector<StridedSpan>* spans = nullptr;  // place in the target
    std::unique_ptr<Work> work;
  };

  void start_whole(int layer_state, const Sum& sum, const at::Tensor& gradient);
  void start_scattered(int layer_state, const Sum& sum, const at::Tensor& gradient);

  StageModel& model_;
  int tensor_parallel_;
  std::map<int, LayerSums> layer_states_;
  OnComplete on_complete_;
  std::vector<Pending> pending_;  // those of one layer state follow each other
};

}  // namespace sailor::trainer
