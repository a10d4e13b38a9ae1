// TrainingStep: one optimizer step of one worker, up to the vote. Read run() from top to bottom.
#pragma once

#include <map>
#include <optional>

#include "core/schedule/schedule.h"
#include "trainer/data/batches.h"
#include "trainer/model/stage_model.h"
#include "trainer/step/gradient_sums.h"
#include "trainer/step/pipeline_messages.h"
#include "trainer/step/step_times.h"
#include "trainer/step/weight_sync.h"

namespace sailor::trainer {

// What all workers add up once their gradients are complete.
struct Totals {
  double squared_norm = 0;        // of the gradient of the whole batch, every layer state counted once
  double loss = 0;                // mean of the batch's tokens
  double non_finite_workers = 0;  // whose own loss is no number, and the sum of their ranks
  double non_finite_ranks = 0;
};

// What all workers add up when they hold complete gradients and totals, and what each knows afterwards.
struct Vote {
  double leaving = 0;       // workers that want to stop here for a newer generation
  double saved_shards = 0;  // of the checkpoint that is being written
  double waiting = 0;       // workers that wait for newcomers to catch up with the steps
};

// What this rank computes of the model.
StageShape stage_shape(const Assignment& assignment, int rank);

class TrainingStep {
 public:
  // All of them outlive the step.
  TrainingStep(const Assignment& assignment, int rank, const Roster& roster, TrainingGroups& groups, StageModel& model,
               const Batches& batches);

  // Forward and backward of all microbatches, and the sums of the gradients. `step` counts from 0. `on_complete` may
  // send gradients on: most of them are complete while others are still computed.
  void run(std::int64_t step, GradientSums::OnComplete on_complete);

  // After run(): the complete gradient of what this worker holds of the layer state, laid out as the held part.
  [[nodiscard]] const at::Tensor& gradient_of(int layer_state) const { return sums_.of(layer_state); }

  // Of the step just run. With them this worker has all that the update needs.
  [[nodiscard]] Totals totals();

  // Whoever returns from it knows that all workers have what the update needs. `mine` is this worker's say.
  [[nodiscard]] Vote vote(Vote mine);

  // Of all steps so far; whoever applies the gradients adds the updates' time.
  [[nodiscard]] StepTimes& times() { return times_; }

  // The mean loss of so many batches of the validation data. All workers call it at the same step, with the weights
  // that they have taken.
  [[nodiscard]] double evaluate(int batches);

  // Makes the model compute with the held states, on all workers: to be called before each step.
  void take_weights(const LayerStates& held) { weights_.run(held); }

 private:
  struct Source {  // of microbatches: those of a step, or of a batch that validates
    std::int64_t step = 0;
    std::optional<int> validation_batch;
  };
  void execute(const Operation& operation, const Source& source, PipelineMessages& messages);
  [[nodiscard]] double& time_of(OperationKind kind);
  void forward(const Operation& operation, const Source& source);
  void backward(const Operation& operation);
  void start_sums(int layer);
  [[nodiscard]] Microbatch microbatch(const Source& source, int index) const;

  const Assignment& assignment_;
  int rank_;
  Role role_;
  const Roster& roster_;
  TrainingGroups& groups_;
  StageModel& model_;
  const Batches& batches_;
  GradientSums sums_;
  WeightSync weights_;
  std::vector<Operation> operations_;
  int backward_passes_left_ = 0;
  StepTimes times_;
  std::map<int, at::Tensor> inputs_;     // received activations and outputs to send, by microbatch
  std::map<int, at::Tensor> gradients_;  // the same of gradients
  double loss_ = 0;                      // of this worker's microbatches, divided by the whole batch's tokens
};

}  // namespace sailor::trainer
