#include "trainer/elastic/worker/generation.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "core/log/log.h"
#include "trainer/comm/communication_error.h"
#include "trainer/elastic/protocol/end_of_generation.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr int kStepsOfTimes = 10;  // times are logged as means over so many steps

}  // namespace

Generation::Generation(const Assignment& assignment, Membership& membership, const Batches& batches,
                       WorkerCheckpoints& kept, LiveState& live)
    : assignment_(assignment),
      membership_(membership),
      live_(live),
      held_(live.held()),
      roster_(assignment),
      model_(stage_shape(assignment, membership.rank()), held_.layer_states,
             TensorParallel(membership.groups->tensor_parallel(), roster_.tensor_parallel_rank_of(membership.rank()),
                            assignment.plan.sequence_parallelism)),
      step_({assignment, roster_, membership.schedule, membership.rank()}, *membership.groups, model_, batches),
      peer_replica_gradients_(roster_, membership.rank(), membership.rendezvous->peer_replicas(), held_.peer_replicas,
                              membership.peer_replica_group.get()),
      checkpoints_(assignment, membership, roster_, held_, kept),
      resumed_step_(held_.step) {
  live_.begin(assignment.generation, membership.updated_by);
}

void Generation::compute() {
  const auto began = std::chrono::steady_clock::now();
  held_.reached = held_.step + 1;
  live_.begin_step(usual_step_seconds());
  allow_for_step();
  step_.take_weights(held_.layer_states);
  const auto weights_taken = std::chrono::steady_clock::now();
  evaluate();
  // An evaluation does not count as part of the step.
  began_ = began + (std::chrono::steady_clock::now() - weights_taken);
  peer_replica_gradients_.begin();
  step_.run(held_.step, [this](int layer_state, const at::Tensor& gradient) {
    peer_replica_gradients_.send(layer_state, gradient);
  });
  {
    const ScopedTimer timer(step_.times().peer_replicas);
    held_.peer_replica_gradients = peer_replica_gradients_.finish();
  }
  const Totals totals = step_.totals();
  const bool is_usable = check_finite(totals);
  for (const auto& [id, layer_state] : model_.parameters()) held_.gradients[id] = step_.gradient_of(id);
  held_.squared_norm = is_usable ? totals.squared_norm : kStepSkipped;
  held_.next_loss = is_usable ? totals.loss : held_.loss;
}

bool Generation::vote(const VoteIntent& intent) {
  Vote mine{.leaving = intent.leaves ? 1.0 : 0.0, .waiting = intent.waits ? 1.0 : 0.0};
  checkpoints_.add_to(mine);
  const Vote vote = step_.vote(mine);
  const bool all_leave = ends_generation(vote.leaving, vote.waiting);
  update(all_leave);
  note_step();
  checkpoints_.advance(vote);
  return all_leave;
}

// State streams send the step only now, after all workers have voted for it.
void Generation::update(bool is_last) {
  const ScopedTimer timer(step_.times().update);
  live_.update(assignment_.training,
               {.is_last = is_last, .seconds = seconds_of_step(), .usual_seconds = mean_step_seconds()});
}

void Generation::finish(const std::function<void()>& on_failed_checkpoint) {
  step_.take_weights(held_.layer_states);
  evaluate();
  checkpoints_.finish_last(on_failed_checkpoint);
  leave_together();
}

// Evaluates the steps done so far before the next one starts, so that a lost peer cannot interrupt an update.
void Generation::evaluate() {
  if (is_evaluation_due()) validation_loss_ = step_.evaluate(assignment_.training.evaluation.value().batches);
}

bool Generation::is_evaluation_due() const {
  const auto& evaluation = assignment_.training.evaluation;
  return evaluation && held_.step > 0 && held_.step % evaluation->every_steps == 0;
}

// Sets the timeouts of the groups for the next step. In a pipeline a worker may wait for a peer for most of a step, and
// the steps of a new plan may be longer than those before. So the timeout includes several steps. The duration of the
// first step of a job and of an evaluation is unknown; they get Timeouts::join instead.
void Generation::allow_for_step() {
  constexpr double kStepsAllowed = 4;
  const double step = usual_step_seconds();
  const bool is_known = step > 0 && !is_evaluation_due();
  const std::chrono::duration<double> allowed = is_known ? std::chrono::duration<double>(kStepsAllowed * step)
                                                         : std::chrono::duration<double>(membership_.timeouts.join);
  const auto timeout = membership_.timeouts.peer + std::chrono::duration_cast<std::chrono::milliseconds>(allowed);
  membership_.groups->set_timeout(timeout);
  peer_replica_gradients_.set_timeout(timeout);
}

// Returns whether the step can be applied. Throws if it cannot and the job does not ask to skip such steps.
bool Generation::check_finite(const Totals& totals) {
  if (std::isfinite(totals.loss) && std::isfinite(totals.squared_norm)) return true;
  // The sign of a NaN has no meaning, and a loss has no sign.
  const std::string what = fmt::format("step {}: the loss is {} and the gradient's norm {}, {}", held_.step + 1,
                                       std::fabs(totals.loss), std::sqrt(totals.squared_norm), culprit(totals));
  if (assignment_.training.on_non_finite == OnNonFinite::kStop) {
    throw CannotTrain(what +
                      "; create another job, because these fields cannot change, with a lower "
                      "training.optimizer.learningRate, with clipNorm or warmupSteps, or with training.onNonFinite: "
                      "Skip" +
                      (assignment_.checkpoint.path.empty()
                           ? ""
                           : "; with checkpoint.resumeFrom it can begin with a checkpoint of this one"));
  }
  if (is_first()) log_warning("step skipped", {{"why", what}});
  ++steps_skipped_;
  return false;
}

// Names the only worker with a non-finite loss, or says how many there are.
std::string Generation::culprit(const Totals& totals) const {
  if (totals.non_finite_workers == 0) return "in the backward pass";
  if (totals.non_finite_workers > 1) return fmt::format("on {} workers", totals.non_finite_workers);
  const auto rank = static_cast<std::size_t>(totals.non_finite_ranks);
  const WorkerSlot& slot = assignment_.workers.at(rank);
  return fmt::format("on worker {} (GPU {} of {}, stage {})", rank, slot.gpu,
                     assignment_.agents.at(static_cast<std::size_t>(slot.agent)).name, slot.role.value().stage);
}

// No worker leaves before the checkpoint is complete. A peer that leaves may close its connection before its last
// message arrives; then the complete checkpoint shows that all is done.
void Generation::leave_together() {
  try {
    membership_.groups->control().all_reduce(at::zeros({1}));
  } catch (const CommunicationError&) {
    if (!checkpoints_.has_last()) throw;
  }
}

void Generation::note_step() {
  const double seconds = seconds_of_step();
  if (held_.step == resumed_step_ + 1) membership_.times.first_step_seconds = seconds;
  durations_.add(seconds);
  recent_passes_.note({.seconds = seconds, .own = step_.own_seconds(), .microbatches = step_.microbatches()});
  if ((held_.step - resumed_step_) % kStepsOfTimes == 0) log_times();
}

// Logs how much time this worker spent in each part of a step. The log shows which stage waits for which, and it can be
// compared with the simulator's estimate.
void Generation::log_times() {
  const StepTimes sum = std::exchange(step_.times(), {});
  const auto mean = [](double seconds) { return fmt::format("{:.6f}", seconds / kStepsOfTimes); };
  log_info("times", {{"generation", std::to_string(assignment_.generation)},
                     {"rank", std::to_string(membership_.rank())},
                     {"step", std::to_string(held_.step)},
                     {"forward_s", mean(sum.forward)},
                     {"backward_s", mean(sum.backward)},
                     {"messages_s", mean(sum.messages)},
                     {"sums_s", mean(sum.sums)},
                     {"copies_s", mean(sum.peer_replicas)},
                     {"update_s", mean(sum.update)}});
}

double Generation::seconds_of_step() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

double Generation::usual_step_seconds() const {
  return durations_.empty() ? membership_.known_step_seconds : mean_step_seconds();
}

double Generation::mean_step_seconds() const { return durations_.mean(); }

JobProgress Generation::progress() const {
  const double tokens_of_step = tokens_of_batch(assignment_);
  const double mean = mean_step_seconds();
  return {.generation = assignment_.generation,
          .step = held_.step,
          .loss = held_.loss,
          .first_loss = held_.first_loss,
          .tokens = held_.step * static_cast<std::int64_t>(tokens_of_step),
          .tokens_per_second = mean > 0 ? tokens_of_step / mean : 0,
          .step_seconds = durations_.median(),
          .last_checkpoint_step = checkpoints_.last_complete(),
          .resumed_step = resumed_step_,
          .steps_lost = membership_.steps_lost,
          .steps_skipped = steps_skipped_,
          .validation_loss = validation_loss_,
          .source = membership_.source,
          .streamed_bytes = membership_.streamed_bytes,
          .moved_bytes = membership_.moved_bytes,
          .times = membership_.times};
}

}  // namespace sailor::trainer
