// TrainingStep: computes the training steps of one worker up to the vote. The order of calls in each step is
// take_weights(), run(), totals(), vote(). The optimizer update that follows is not part of this class
// (HeldState::apply_gradients).
#pragma once

#include <map>
#include <optional>

#include "trainer/data/batches.h"
#include "trainer/model/stage_model.h"
#include "trainer/step/gradient_sums.h"
#include "trainer/step/operations.h"
#include "trainer/step/pipeline_messages.h"
#include "trainer/step/step_times.h"
#include "trainer/step/weight_sync.h"

namespace sailor::trainer {

// Sums over all workers, taken when their gradients are complete.
struct Totals {
  double squared_norm = 0;        // squared norm of the gradient of the whole batch
  double loss = 0;                // mean over the tokens of the batch
  double non_finite_workers = 0;  // number of workers whose own loss is not finite
  double non_finite_ranks = 0;    // sum of the ranks of these workers; it names the worker if there is only one
};

// One worker's contribution to the vote, or the sum of all contributions. A worker votes when it has complete gradients
// and totals.
struct Vote {
  double leaving = 0;       // number of workers that want to end the generation after this step
  double saving = 0;        // number of workers that still write files of the checkpoint in progress
  double saved_shards = 0;  // number of files that are written of it
  double waiting = 0;       // number of workers that wait until joining workers have their state
  double checkpoints = 0;   // above 0: a checkpoint is due after this step; only one worker looks at its clock
};

// Returns the number of tokens of a step, of all workers together.
double tokens_of_batch(const Assignment& assignment);

// Returns the stage that this rank computes.
StageShape stage_shape(const Assignment& assignment, int rank);

// One rank of a generation that trains.
struct TrainingRank {
  const Assignment& assignment;
  const Roster& roster;  // of the assignment
  const WorkerSchedule& schedule;
  int rank = 0;
};

class TrainingStep {
 public:
  // All arguments and what they refer to outlive this object.
  TrainingStep(const TrainingRank& worker, TrainingGroups& groups, StageModel& model, const Batches& batches);

  // Runs forward and backward passes of all microbatches and sums the gradients over the workers. `step` counts from 0.
  // The function calls `on_complete` for each gradient as soon as it is complete, so that the caller can send it to
  // peers while other gradients are still being computed. When run() returns, the device has computed all gradients: on
  // a GPU a sum may otherwise still run, or may have been aborted, which looks like its end.
  void run(std::int64_t step, GradientSums::OnComplete on_complete);

  // Returns how long this worker's own passes of the last run() took, in seconds, without any waiting.
  [[nodiscard]] double own_seconds() const { return own_seconds_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }  // that this worker processes in each step

  // Returns the summed gradient of this worker's held shard of the layer state. Call it after run().
  [[nodiscard]] const at::Tensor& gradient_of(int layer_state) const { return sums_.of(layer_state); }

  // Sums the totals over all workers. Call it after run(). When it returns, this worker has everything that the update
  // needs.
  [[nodiscard]] Totals totals();

  // Sums the votes of all workers. `mine` is this worker's contribution. When the function returns, all workers have
  // everything that the update needs.
  [[nodiscard]] Vote vote(Vote mine);

  // The times of all steps so far. The caller adds the time of the optimizer updates.
  [[nodiscard]] StepTimes& times() { return times_; }

  // Returns the mean loss of the first `batches` batches of the validation data. All workers call it at the same step,
  // after take_weights().
  [[nodiscard]] double evaluate(int batches);

  // Makes the model compute with the held states. All workers call it before each step.
  void take_weights(const LayerStates& held) { weights_.run(held); }

 private:
  struct Source {  // the origin of microbatches: a training step or a validation batch
    std::int64_t step = 0;
    std::optional<int> validation_batch;
  };
  // Waits for the message that the operation needs, if it is a pass that needs one. `acknowledged`: WorkerSchedule.
  void take_message_for(const Operation& operation, int acknowledged, PipelineMessages& messages);
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
  const WorkerSchedule& schedule_;
  int microbatches_;
  int backward_passes_left_ = 0;
  double own_seconds_ = 0;
  StepTimes times_;
  std::map<int, at::Tensor> inputs_;     // activations received and activations to send, by microbatch
  std::map<int, at::Tensor> gradients_;  // the same for gradients
  // Sum over this worker's microbatches, divided by the tokens of the whole batch. It stays on the device, so that the
  // host does not wait for each microbatch.
  at::Tensor loss_;
};

}  // namespace sailor::trainer
