#include "trainer/step/training_step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <ATen/ATen.h>

#include "core/model/check.h"
#include "trainer/device/device.h"
#include "trainer/device/host_copies.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

at::Tensor taken(std::map<int, at::Tensor>& tensors, int microbatch) {
  auto node = tensors.extract(microbatch);
  SAILOR_CHECK(!node.empty(), "there is no tensor for microbatch {}", microbatch);
  return std::move(node.mapped());
}

MessageShape message_shape(const Assignment& assignment) {
  return {.sizes = {assignment.plan.microbatch_size, assignment.training.sequence_length, assignment.model.hidden_size},
          .type = scalar_type_of(assignment.training.precision),
          .is_sequence_parallel = assignment.plan.sequence_parallelism};
}

at::Tensor token_tensor(std::vector<std::int64_t>& tokens, const Assignment& assignment) {
  const auto shape = {std::int64_t{assignment.plan.microbatch_size}, std::int64_t{assignment.training.sequence_length}};
  return on_compute_device(at::from_blob(tokens.data(), shape, at::kLong));
}

at::Tensor zero_loss() { return at::zeros({}, at::device(compute_device()).dtype(at::kDouble)); }

const Role& role_of(const Assignment& assignment, int rank) {
  return assignment.workers.at(static_cast<std::size_t>(rank)).role.value();
}

}  // namespace

double tokens_of_batch(const Assignment& assignment) {
  return static_cast<double>(assignment.training.global_batch_size) * assignment.training.sequence_length;
}

StageShape stage_shape(const Assignment& assignment, int rank) {
  const Role& role = role_of(assignment, rank);
  const Stage& stage = assignment.plan.stages.at(static_cast<std::size_t>(role.stage));
  return {.spec = assignment.model,
          .first_layer = stage.first_layer,
          .last_layer = stage.last_layer,
          .recompute = assignment.plan.activation_checkpointing,
          .precision = assignment.training.precision};
}

TrainingStep::TrainingStep(const TrainingRank& worker, TrainingGroups& groups, StageModel& model,
                           const Batches& batches)
    : assignment_(worker.assignment),
      rank_(worker.rank),
      role_(role_of(worker.assignment, worker.rank)),
      roster_(worker.roster),
      groups_(groups),
      model_(model),
      batches_(batches),
      sums_(roster_, rank_, groups, model),
      weights_(roster_, rank_, groups, model),
      schedule_(worker.schedule),
      microbatches_(static_cast<int>(
          std::ranges::count(worker.schedule.operations, OperationKind::kBackward, &Operation::kind))) {}

void TrainingStep::run(std::int64_t step, GradientSums::OnComplete on_complete) {
  model_.clear_gradients();
  sums_.begin(std::move(on_complete));
  inputs_.clear();
  gradients_.clear();
  loss_ = zero_loss();
  const std::vector<Operation>& operations = schedule_.operations;
  backward_passes_left_ = microbatches_;
  PipelineMessages messages(groups_, roster_, role_, message_shape(assignment_), operations);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    take_message_for(operations[i], schedule_.acknowledged[i], messages);
    const ScopedTimer timer(time_of(operations[i].kind));
    execute(operations[i], {.step = step, .validation_batch = {}}, messages);
  }
  {
    const ScopedTimer timer(times_.messages);
    messages.finish();
  }
  const ScopedTimer timer(times_.sums);
  sums_.finish();
  wait_for_compute_device();
  groups_.check();
  own_seconds_ = groups_.own_passes().take();
}

Totals TrainingStep::totals() {
  const ScopedTimer timer(times_.sums);
  const at::Tensor own = at::stack({sums_.squared_norm_of_saved(), loss_}).cpu();
  const auto squared_norm = own[0].item<double>();
  // All workers of a tensor-parallel group have the same loss.
  const double loss = role_.shard == 0 ? own[1].item<double>() : 0;
  const bool is_bad = !std::isfinite(loss);
  const at::Tensor all =
      at::tensor({squared_norm, loss, is_bad ? 1.0 : 0.0, is_bad ? static_cast<double>(rank_) : 0.0}, at::kDouble);
  groups_.control().all_reduce(all);
  const auto* sum = all.const_data_ptr<double>();
  return {.squared_norm = sum[0], .loss = sum[1], .non_finite_workers = sum[2], .non_finite_ranks = sum[3]};
}

// Runs the forward operations of a step, in the same order. No message comes back, so the next messages wait for the
// oldest ones. That cannot deadlock (core/schedule/schedule.h).
double TrainingStep::evaluate(int batches) {
  constexpr std::size_t kUnfinishedMessages = 8;
  std::vector<Operation> operations;
  std::ranges::copy_if(schedule_.operations, std::back_inserter(operations), [](const Operation& operation) {
    return operation.kind == OperationKind::kForward || operation.kind == OperationKind::kReceiveActivation ||
           operation.kind == OperationKind::kSendActivation;
  });
  loss_ = zero_loss();
  inputs_.clear();
  for (int batch = 0; batch < batches; ++batch) {
    PipelineMessages messages(groups_, roster_, role_, message_shape(assignment_), operations);
    for (const Operation& operation : operations) {
      take_message_for(operation, 0, messages);
      execute(operation, {.step = 0, .validation_batch = batch}, messages);
      messages.finish(kUnfinishedMessages);
    }
    messages.finish();
  }
  wait_for_compute_device();
  (void)groups_.own_passes().take();
  const at::Tensor sum = at::full({1}, role_.shard == 0 ? loss_.item<double>() / batches : 0, at::kDouble);
  groups_.control().all_reduce(sum);
  return sum.item<double>();
}

Vote TrainingStep::vote(Vote mine) {
  const ScopedTimer timer(times_.sums);
  const at::Tensor all =
      at::tensor({mine.leaving, mine.saving, mine.saved_shards, mine.waiting, mine.checkpoints}, at::kDouble);
  groups_.control().all_reduce(all);
  const auto* sum = all.const_data_ptr<double>();
  return {.leaving = sum[0], .saving = sum[1], .saved_shards = sum[2], .waiting = sum[3], .checkpoints = sum[4]};
}

void TrainingStep::take_message_for(const Operation& operation, int acknowledged, PipelineMessages& messages) {
  const StageShape& shape = model_.shape();
  const bool needs_activation = operation.kind == OperationKind::kForward && !shape.has_embedding();
  const bool needs_gradient = operation.kind == OperationKind::kBackward && !shape.has_head();
  if (!needs_activation && !needs_gradient) return;
  const ScopedTimer timer(times_.messages);
  (needs_gradient ? gradients_ : inputs_)[operation.microbatch] = messages.take_for(operation, acknowledged);
}

void TrainingStep::execute(const Operation& operation, const Source& source, PipelineMessages& messages) {
  groups_.check();  // a replica may compute many microbatches before it communicates
  switch (operation.kind) {
    case OperationKind::kReceiveActivation:
    case OperationKind::kReceiveGradient:
      return messages.reach(operation);
    case OperationKind::kForward: {
      const RunningStopwatch running(groups_.own_passes());
      return forward(operation, source);
    }
    case OperationKind::kSendActivation:
      return messages.send(operation, taken(inputs_, operation.microbatch));
    case OperationKind::kBackward: {
      const RunningStopwatch running(groups_.own_passes());
      return backward(operation);
    }
    case OperationKind::kSendGradient:
      return messages.send(operation, taken(gradients_, operation.microbatch));
  }
}

double& TrainingStep::time_of(OperationKind kind) {
  if (kind == OperationKind::kForward) return times_.forward;
  return kind == OperationKind::kBackward ? times_.backward : times_.messages;
}

// Stores the output in place of the input, for the next stage. The last stage adds its output to the loss. Dividing the
// loss by the tokens of the whole batch makes the sum of all gradients the gradient of its mean.
void TrainingStep::forward(const Operation& operation, const Source& source) {
  const StageShape& shape = model_.shape();
  const int index = operation.microbatch;
  at::Tensor targets;
  at::Tensor input;
  if (shape.has_embedding() || shape.has_head()) {
    Microbatch batch = microbatch(source, index);
    if (shape.has_embedding()) input = token_tensor(batch.tokens, assignment_);
    if (shape.has_head()) targets = token_tensor(batch.targets, assignment_);
  }
  if (!shape.has_embedding()) input = taken(inputs_, index);
  const double factor = 1 / tokens_of_batch(assignment_);
  at::Tensor output =
      source.validation_batch ? model_.infer(input, targets) : model_.forward(index, input, {targets, factor});
  if (shape.has_head()) {
    loss_.add_(output, factor);
  } else {
    inputs_[index] = std::move(output);
  }
}

void TrainingStep::backward(const Operation& operation) {
  const StageShape& shape = model_.shape();
  const int index = operation.microbatch;
  at::Tensor gradient = shape.has_head() ? at::Tensor() : taken(gradients_, index);
  const bool is_last = --backward_passes_left_ == 0;
  gradient = model_.backward(index, gradient, [&](int layer) {
    if (is_last) start_sums(layer);
  });
  if (!shape.has_embedding()) gradients_[index] = std::move(gradient);
}

void TrainingStep::start_sums(int layer) {
  for (const int layer_state : model_.layer_states_complete_after(layer)) sums_.start(layer_state);
}

Microbatch TrainingStep::microbatch(const Source& source, int index) const {
  const int size = assignment_.plan.microbatch_size;
  auto batch = source.validation_batch ? batches_.validation_microbatch(*source.validation_batch, index, size)
                                       : batches_.microbatch(source.step, index, size);
  if (!batch) throw CannotTrain(batch.error().message);
  return *std::move(batch);
}

}  // namespace sailor::trainer
