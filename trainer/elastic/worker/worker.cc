#include "trainer/elastic/worker/worker.h"

#include <algorithm>
#include <utility>

#include "core/log/log.h"
#include "core/model/check.h"
#include "trainer/comm/backend_error.h"
#include "trainer/comm/communication_error.h"
#include "trainer/device/device.h"
#include "trainer/elastic/preparation/next_generation.h"
#include "trainer/elastic/preparation/preparations.h"
#include "trainer/elastic/protocol/command.h"
#include "trainer/elastic/regroup/checkpoint_and_release.h"
#include "trainer/elastic/regroup/membership_closer.h"
#include "trainer/elastic/regroup/peer_names.h"
#include "trainer/elastic/worker/downtime.h"
#include "trainer/elastic/worker/generation.h"
#include "trainer/elastic/worker/generation_checkpoints.h"
#include "trainer/elastic/worker/speed_probe.h"
#include "trainer/elastic/worker/status_reporter.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

// Drives the state machine of protocol/worker_machine.h: carries out the action of the current place, and passes the
// result to the machine as an event.
class Worker {
 public:
  Worker(const WorkerSettings& settings, AssignmentMailbox& mailbox, Reporter& reporter)
      : settings_(settings),
        mailbox_(mailbox),
        status_reporter_(settings.gpu, reporter),
        preparations_(
            {settings, mailbox, live_, [this](const UnsentState& unsent) { status_reporter_.note_unsent(unsent); }}),
        next_generation_(me(), preparations_) {}

  ~Worker() { mailbox_.stop_listening(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    report(WorkerPhase::kIdle);
    while (state_.place != WorkerPlace::kDone && !is_closed_) {
      try {
        if (is_training(state_.place)) listen();
        handle(carry_out());
      } catch (const CommunicationError& error) {
        give_up_generation(with_peer_names(error.what(), *assignment_));
      } catch (const CannotSaveState& error) {
        give_up_generation(error.what());
        // The job or this program has a fault that another generation would not solve.
      } catch (const std::exception& error) {
        // LibTorch's messages end with a stack trace.
        const std::string why = first_line(error.what());
        log_error("cannot continue", {{"generation", std::to_string(state_.generation)}, {"why", why}});
        report(WorkerPhase::kFailed, why);
        return;
      }
    }
  }

 private:
  Event carry_out() {
    switch (state_.place) {
      case WorkerPlace::kRendezvous:
        return meet();
      case WorkerPlace::kTransferring:
        return move();
      case WorkerPlace::kConfirming:
        return confirm();
      case WorkerPlace::kComputing:
        return compute();
      case WorkerPlace::kVoting:
        return may_vote() ? vote() : event::LeaseLapsed{};
      case WorkerPlace::kAwaitingLease:
        return await_lease();
      case WorkerPlace::kFinishing:
        training().finish([this] { note_failed_checkpoint(); });
        return event::Finished{};
      default:
        return await_assignment();
    }
  }

  // Passes an event to the machine and acts on the new state.
  void handle(const Event& event) {
    const WorkerState before = std::exchange(state_, after(state_, event));
    const bool has_trained = training_.has_value();
    if (state_.place == WorkerPlace::kDone) report_phase(WorkerPhase::kFinished);
    if (!is_training(state_.place) && state_.place != WorkerPlace::kFinishing) training_.reset();
    if (state_.generation != before.generation) begin_generation();
    if (state_.place == WorkerPlace::kReleased && before.place != WorkerPlace::kReleased) release();
    if (std::holds_alternative<event::Confirmed>(event) && state_.has_role) begin_training();
    SAILOR_CHECK(state_.version.updated_by == 0 || state_.version.step == held_.step, "step {} is held as step {}",
                 state_.version.step, held_.step);
    // All workers have agreed to leave, so nothing is broken.
    const bool has_left = has_trained && std::holds_alternative<event::Voted>(event);
    const bool is_whole = has_left && state_.place == WorkerPlace::kBroken;
    const WorkerPhase phase = is_whole ? WorkerPhase::kPreparing : phase_of(state_.place);
    if (!status_reporter_.has_reported(phase, state_.generation)) report_phase(phase);
  }

  // --- between generations ---

  Event await_assignment() { return assigned(mailbox_.wait_for_newer_than(state_.generation)); }
  Event newer_assignment() { return assigned(mailbox_.newer_than(state_.generation)); }

  // `assignment` is nothing if no more will come.
  Event assigned(std::optional<Assignment> assignment) {
    is_closed_ = !assignment;
    if (is_closed_) return event::GenerationFailed{};
    const Command command = command_of(*assignment, me(), *assignment_);
    next_generation_.learn(*std::move(assignment), *assignment_);
    return event::Assigned{command};
  }

  void begin_generation() {
    speed_probe_.reset();
    mailbox_.disarm_interrupt();
    mailbox_.stop_listening();
    assignment_ = next_generation_.take();
    failure_.clear();
    forming_.reset();
    saved_.reset();
    downtime_.note_generation();
    if (rank_of(*assignment_, me())) preparations_.begin(assignment_, preparation_report());
  }

  // Ends the generation early. It has failed, unless a newer one interrupted it.
  void give_up_generation(const std::string& why) {
    leave_generation();  // at once, because closed connections tell the other workers
    const std::int64_t left = state_.generation;
    note_newer();  // a newer assignment may have interrupted the wait
    const bool is_replaced = state_.generation != left || state_.next.generation > 0;
    if (is_replaced) {
      log_info("generation ended by a newer one", {{"generation", std::to_string(left)}, {"why", why}});
    } else {
      log_warning("generation failed", {{"generation", std::to_string(left)}, {"why", why}});
      failure_ = why;
    }
    if (state_.generation == left) handle(event::GenerationFailed{});
  }

  void leave_generation() {
    mailbox_.disarm_interrupt();
    mailbox_.stop_listening();
    training_.reset();
    forming_.reset();
    closer_.close(std::exchange(membership_, std::nullopt));
  }

  void release() {
    leave_generation();
    preparations_.abandon();
    preparations_.destroy_ended();
    held_ = {};
    downtime_ = {};
    finish_files();
    speed_probe_.emplace([this](double seconds) { status_reporter_.note_probe(seconds); });
  }

  // Writes the files of a checkpoint that the job has in progress, because the pod may be deleted once it is released.
  void finish_files() {
    constexpr std::chrono::milliseconds kLook{100};  // how soon the wait notices that a newer generation is known
    while (!checkpoints_.writer.wait_until_idle(kLook) && !mailbox_.has_newer_than(state_.generation)) {
    }
  }

  // --- regrouping ---

  Event meet() {
    forming_ = preparations_.take(state_.generation);
    if (!forming_) return newer_assignment();
    if (auto received = std::exchange(forming_->received, std::nullopt)) take_over(*std::move(received));
    GenerationRendezvous& rendezvous = *forming_.value().membership.rendezvous;
    held_.join_arrived(assignment_->model);
    if (assignment_->releases_gpus) drop_older_checkpoint();
    StateReport mine = held_.state_report(state_.version);
    mine.stopped_seconds = downtime_.seconds();
    if (!rendezvous.exchange(mine, held_.slices())) return newer_assignment();
    downtime_.learn(rendezvous.state_reports());
    const bool can_offer = rendezvous.offers_state();
    settle(*assignment_, rendezvous, held_);
    const ResumePoint point = rendezvous.point().value_or(ResumePoint{});
    return event::StateReportsKnown{.can_offer = can_offer,
                                    .step = point.step,
                                    .updated_by = point.updated_by,
                                    .may_be_behind = point.may_be_behind};
  }

  // The checkpoint of a job that releases its GPUs is newer, or has files of the same names.
  void drop_older_checkpoint() {
    checkpoints_.writer.drop_unwritten();
    checkpoints_.unfinished.reset();
    finish_files();
  }

  // The state that this worker received while others, or it itself, trained.
  void take_over(ReceivedState received) {
    const StateVersion& version = state_.version;
    if (version.updated_by == 0) {
      held_ = std::move(received.held);
      handle(event::StateStreamed{.step = held_.step,
                                  .updated_by = received.updated_by,
                                  .generation = received.generation,
                                  .is_final = received.is_final});
    } else if (version.updated_by == received.updated_by && version.step == received.held.step &&
               version.confirmed == received.generation && !version.has_gradients) {
      held_.join(assignment_->model, received.held);
    }
  }

  Event move() {
    // All workers have arrived here, so none is still in the last vote of the previous generation.
    closer_.close(std::exchange(membership_, std::move(forming_.value().membership)));
    batches_ = std::move(forming_.value().batches);
    forming_.reset();
    release_cached_memory();  // the new plan needs tensors of other sizes
    // A regroup is not worth finishing once a newer generation is known.
    mailbox_.arm_interrupt(
        state_.generation, [](const Assignment&) { return true; }, membership().interrupt);
    const auto& point = membership().rendezvous->point();
    if (assignment_->releases_gpus) {
      held_.join_peer_replicas(assignment_->model);
      if (!checkpoint_and_release(*assignment_, *membership().rendezvous, held_)) return newer_assignment();
      if (point && membership().rank() == 0) saved_ = saved_progress(*assignment_, point->step, held_, step_seconds_);
    } else {
      const double before = downtime_.seconds_so_far();
      move_state(*assignment_, membership(), held_);
      membership().times.regroup_seconds = before;
      membership().times.transfer_seconds = downtime_.seconds_so_far() - before;
    }
    return event::StateTransferred{.step = held_.step,
                                   .updated_by = point ? point->updated_by : assignment_->generation,
                                   .confirmed = point ? point->confirmed : 0,
                                   .may_be_behind = point && point->may_be_behind};
  }

  Event confirm() {
    if (!membership().rendezvous->confirm()) return newer_assignment();
    return event::Confirmed{.all_steps_are_done = held_.step >= assignment_->training.steps};
  }

  // --- training ---

  void begin_training() {
    // A planned change waits for the end of the step. A change that drops a worker of this generation cannot wait.
    const auto ends_at_once = [running = assignment_](const Assignment& newer) {
      return drops_a_peer(newer, *running);
    };
    mailbox_.arm_interrupt(state_.generation, ends_at_once, membership().interrupt);
    held_.keep_arrived();
    is_first_step_ = true;
    membership().known_step_seconds = step_seconds_;
    membership().updated_by = state_.version.updated_by;
    training_.emplace(*assignment_, membership(), *batches_, checkpoints_, live_);
    log_beginning(training().progress(), membership().rank());
    // A step may take long, and a notice be short. So the next generation is prepared as soon as it is known.
    mailbox_.listen_for_newer_than(
        state_.generation, [this, report = preparation_report(), running = assignment_](const Assignment& newer) {
          const bool is_prepared_meanwhile = rank_of(newer, me()) && !drops_a_peer(newer, *running);
          if (is_prepared_meanwhile) preparations_.begin(std::make_shared<const Assignment>(newer), report);
        });
  }

  Event compute() {
    training().compute();
    return event::Computed{};
  }

  [[nodiscard]] bool may_vote() const {
    return assignment_->lease_seconds == 0 || mailbox_.has_lease(assignment_->generation);
  }

  Event await_lease() {
    report_phase(WorkerPhase::kTraining);
    mailbox_.wait_for_lease(state_.generation);
    if (!mailbox_.has_newer_than(state_.generation)) return event::LeaseRenewed{};
    return newer_assignment();
  }

  Event vote() {
    const bool somebody_leaves =
        training().vote({.leaves = wants_to_leave(state_), .waits = next_generation_.is_waited_for(step_seconds_)});
    step_seconds_ = training().mean_step_seconds();
    if (std::exchange(is_first_step_, false)) membership().times.stopped_seconds = downtime_.seconds();
    downtime_.note_step();
    if (membership().rank() == 0) log_step(training().progress());
    report_phase(WorkerPhase::kTraining);
    return event::Voted{.somebody_leaves = somebody_leaves, .is_last_step = training().is_done()};
  }

  // The last checkpoint could not be written. A newer generation takes over the state, perhaps to save it elsewhere.
  void note_failed_checkpoint() {
    if (mailbox_.has_newer_than(state_.generation))
      throw CannotSaveState("the last checkpoint is left to a newer generation");
    report_phase(phase_of(state_.place));
  }

  // Looks for a newer assignment. The worker obeys it when its preparation is over, or at once if it cannot wait.
  void listen() {
    is_closed_ = mailbox_.is_closed();
    if (is_closed_) throw CommunicationError("the agent is gone");
    preparations_.destroy_ended();
    note_newer();
    if (next_generation_.preparation_is_over()) handle(event::PreparationOver{next_generation_.generation()});
  }

  void note_newer() {
    auto newer = mailbox_.newer_than(std::max(state_.generation, state_.next.generation));
    if (newer) handle(assigned(std::move(newer)));
  }

  // --- the rest ---

  // For a generation that this worker does not obey yet, or has just started to obey.
  [[nodiscard]] PreparationReport preparation_report() const {
    if (!is_training(state_.place)) return {.trains = 0, .is_empty = state_.version.updated_by == 0};
    return {.trains = state_.generation, .is_empty = false, .held = held_.slices()};
  }

  // Set while the place of the state machine is one of a generation that has met, or that trains.
  [[nodiscard]] Membership& membership() { return membership_.value(); }
  [[nodiscard]] Generation& training() { return training_.value(); }

  [[nodiscard]] WorkerName me() const { return {settings_.agent, settings_.gpu}; }

  // Reports the phase, with the progress of the job if this worker knows it.
  void report_phase(WorkerPhase phase) {
    const bool trains_first = training_ && membership_ && membership_->rank() == 0;
    status_reporter_.report({.phase = phase,
                             .generation = state_.generation,
                             .step = held_.step,
                             .message = message_of(phase),
                             .progress = trains_first ? std::optional(training_->progress()) : saved_,
                             .microbatch_seconds = training_ && phase == WorkerPhase::kTraining
                                                       ? training_->microbatch_seconds()
                                                       : std::nullopt});
  }

  [[nodiscard]] std::string message_of(WorkerPhase phase) const {
    if (state_.place == WorkerPlace::kAwaitingLease)
      return "waits for the operator to renew its lease, without which a generation in a single pod must not train";
    return phase == WorkerPhase::kBroken ? failure_ : checkpoints_.writer.last_error();
  }

  void report(WorkerPhase phase, const std::string& message = "") {
    status_reporter_.report({.phase = phase, .generation = state_.generation, .step = held_.step, .message = message});
  }

  const WorkerSettings& settings_;
  AssignmentMailbox& mailbox_;
  StatusReporter status_reporter_;
  WorkerState state_;
  // The assignment that the worker obeys.
  std::shared_ptr<const Assignment> assignment_ = std::make_shared<const Assignment>();
  HeldState held_;
  LiveState live_{held_};  // `held_`, while this worker trains
  Preparations preparations_;
  NextGeneration next_generation_;        // the generation of state_.next
  std::optional<Prepared> forming_;       // set while the generation is at its rendezvous
  std::unique_ptr<Batches> batches_;      // those of the newest generation whose rendezvous is over
  std::optional<Membership> membership_;  // set after the rendezvous, until the worker leaves the generation
  MembershipCloser closer_;
  WorkerCheckpoints checkpoints_;
  std::optional<Generation> training_;
  std::string failure_;
  std::optional<JobProgress> saved_;  // set on rank 0 of a generation that has saved the state to release the GPUs
  Downtime downtime_;
  double step_seconds_ = 0;     // mean of the last few steps; 0: no step was done here
  bool is_first_step_ = false;  // the next step is the first of its generation
  bool is_closed_ = false;
  std::optional<SpeedProbe> speed_probe_;  // set while the worker is released; its thread uses `status_reporter_`
};

}  // namespace

void run_worker(const WorkerSettings& settings, AssignmentMailbox& mailbox, Reporter& reporter) {
  Worker(settings, mailbox, reporter).run();
}

}  // namespace sailor::trainer
