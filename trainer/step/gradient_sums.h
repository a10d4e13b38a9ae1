// GradientSums: the gradients of a worker's layer states, added up over all workers that compute with the same
// elements.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "trainer/model/stage_model.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

// A sum is started as soon as the worker's own shard of it is complete, and goes on beside the backward pass through
// the layers before. Where the optimizer's state is sharded, each holder gets the sum of its share only.
class GradientSums {
 public:
  // All of them outlive the sums.
  GradientSums(const Roster& roster, int rank, TrainingGroups& groups, StageModel& model);

  // Told of each layer state once its gradient is complete, and stays so until the next step: in start() where nobody
  // else computes with it, else in finish().
  using OnComplete = std::function<void(int layer_state, const at::Tensor& gradient)>;

  void begin(OnComplete on_complete);  // a step
  void start(int layer_state);         // in the same order on all workers that share units
  void finish();                       // all sums are there

  // Complete gradients, laid out as the rank's held shard of the layer state.
  [[nodiscard]] const at::Tensor& of(int layer_state) const { return layer_states_.at(layer_state).held_gradient; }

  // Of the elements that this worker keeps: over all workers, every element of the model once.
  [[nodiscard]] double squared_norm_of_kept() const;

 private:
  struct Sum {  // of one unit
    Group* group = nullptr;
    std::vector<StridedSpan> spans;                         // in the computed shard
    std::vector<std::vector<StridedSpan>> spans_by_holder;  // the same, by holder; empty where nothing is sharded
    std::vector<StridedSpan> own_spans;                     // in the held shard
  };
  struct LayerSums {
    std::vector<StridedSpan>
        copies;  // tensors of which all workers of the tensor-parallel group have the same gradient
    std::vector<Sum> sums;
    std::vector<StridedSpan> kept;  // in the held shard
    at::Tensor held_gradient;
  };
  struct Pending {
    int layer_state = 0;
    at::Tensor message;
    at::Tensor target;
    const std::vector<StridedSpan>* spans = nullptr;  // of the target
    std::unique_ptr<Work> transfer;
  };

  void start_whole(int layer_state, const Sum& sum, const at::Tensor& gradient);
  void start_scattered(int layer_state, const Sum& sum, const at::Tensor& gradient);

  StageModel& model_;
  int tensor_parallel_;
  std::map<int, LayerSums> layer_states_;
  OnComplete on_complete_;
  std::vector<Pending> pending_;  // those of a layer state in a row
};

}  // namespace sailor::trainer
