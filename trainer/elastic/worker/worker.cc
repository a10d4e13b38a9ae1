#include "trainer/elastic/worker/worker.h"

#include <algorithm>
#include <utility>

#include "core/log/log.h"
#include "core/model/check.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/preparation/next_generation.h"
#include "trainer/elastic/preparation/preparations.h"
#include "trainer/elastic/protocol/command.h"
#include "trainer/elastic/regroup/checkpoint_and_release.h"
#include "trainer/elastic/regroup/peer_names.h"
#include "trainer/elastic/worker/downtime.h"
#include "trainer/elastic/worker/generation.h"
#include "trainer/elastic/worker/status_reporter.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

// The shell around the state machine of protocol/worker_machine.h: it does what the state's place says, and tells the
// machine what came of it.
class Worker {
 public:
  Worker(const WorkerSettings& settings, Inbox& inbox, Reporter& reporter)
      : settings_(settings),
        inbox_(inbox),
        news_(settings.gpu, reporter),
        preparations_(settings, inbox),
        successor_(me(), preparations_) {}

  void run() {
    say(WorkerPhase::kIdle);
    while (state_.place != Place::kDone && !is_closed_) {
      try {
        if (is_training(state_.place)) listen();
        handle(carry_out());
      } catch (const PeerLost& error) {
        lose(with_peer_names(error.what(), *assignment_));
      } catch (const CannotPark& error) {
        lose(error.what());
      } catch (const std::exception& error) {  // the job's fault, or ours: no other generation would help
        log_error("cannot go on", {{"generation", std::to_string(state_.generation)}, {"why", error.what()}});
        say(WorkerPhase::kFailed, error.what());
        return;
      }
    }
  }

 private:
  Event carry_out() {
    switch (state_.place) {
      case Place::kMeeting:
        return meet();
      case Place::kMoving:
        return move();
      case Place::kConfirming:
        return confirm();
      case Place::kComputing:
        return compute();
      case Place::kVoting:
        return may_vote() ? vote() : event::LeaseLapsed{};
      case Place::kPaused:
        return await_lease();
      case Place::kFinishing:
        training_->finish();
        return event::Finished{};
      default:
        return await_assignment();
    }
  }

  // The machine's step, and what always follows from it.
  void handle(const Event& event) {
    const WorkerState before = std::exchange(state_, after(state_, event));
    const bool has_trained = training_.has_value();
    if (state_.place == Place::kDone) tell(WorkerPhase::kFinished);
    if (!is_training(state_.place) && state_.place != Place::kFinishing) training_.reset();
    if (state_.generation != before.generation) begin_generation();
    if (state_.place == Place::kReleased && before.place != Place::kReleased) release();
    if (std::holds_alternative<event::Confirmed>(event) && state_.has_role) begin_training();
    SAILOR_CHECK(state_.account.updated_by == 0 || state_.account.step == held_.step, "step {} is held as step {}",
                 state_.account.step, held_.step);
    const bool has_left = has_trained && std::holds_alternative<event::Voted>(event);  // by agreement, not broken
    const bool is_whole = has_left && state_.place == Place::kBroken;
    const WorkerPhase phase = is_whole ? WorkerPhase::kPreparing : phase_of(state_.place);
    if (!news_.is_told(phase, state_.generation)) tell(phase);
  }

  // --- between generations ---

  Event await_assignment() { return assigned(inbox_.wait_for_newer_than(state_.generation)); }
  Event newer_assignment() { return assigned(inbox_.newer_than(state_.generation)); }

  // Nothing: there will be no more.
  Event assigned(std::optional<Assignment> assignment) {
    is_closed_ = !assignment;
    if (is_closed_) return event::PeerLost{};
    const Order order = order_of(*assignment, me(), *assignment_);
    successor_.learn(*std::move(assignment), *assignment_);
    return event::Assigned{order};
  }

  void begin_generation() {
    inbox_.end_guard();
    assignment_ = successor_.take();
    trouble_.clear();
    forming_.reset();
    standstill_.note_generation();
    if (slot_of(*assignment_, me())) preparations_.begin(assignment_, standing());
  }

  void lose(const std::string& why) {
    leave_generation();  // at once: closed connections are how the others learn of it
    const std::int64_t left = state_.generation;
    note_newer();  // which may be what broke off the wait
    if (state_.generation != left) {
      log_info("generation broken off", {{"generation", std::to_string(left)}});
      return;
    }
    log_warning("peer lost", {{"generation", std::to_string(state_.generation)}, {"why", why}});
    trouble_ = why;
    handle(event::PeerLost{});
  }

  void leave_generation() {
    inbox_.end_guard();
    training_.reset();
    forming_.reset();
    membership_.reset();
  }

  void release() {
    leave_generation();
    preparations_.abandon();
    preparations_.forget_ended();
    held_ = {};
  }

  // --- regrouping ---

  Event meet() {
    forming_ = preparations_.take();
    if (!forming_) return newer_assignment();
    if (forming_->followed) take_over(*std::exchange(forming_->followed, std::nullopt));
    Meeting& meeting = *forming_->membership.meeting;
    held_.join_arrived(assignment_->model);
    Holding mine = held_.holding(state_.account);
    mine.stopped_seconds = standstill_.seconds();
    if (!meeting.exchange(mine, held_.slices())) return newer_assignment();
    standstill_.learn(meeting.holdings());
    const bool can_offer = meeting.offers_state();
    settle(*assignment_, meeting, held_);
    const ResumePoint point = meeting.point().value_or(ResumePoint{});
    return event::Met{.can_offer = can_offer, .step = point.step, .updated_by = point.updated_by};
  }

  void take_over(Followed followed) {
    held_ = std::move(followed.held);
    handle(event::Followed{.step = held_.step, .generation = followed.generation});
  }

  Event move() {
    // Only now are the connections of the generation before closed: all have come here, so none is in its last vote.
    membership_ = std::move(forming_->membership);
    batches_ = std::move(forming_->batches);
    forming_.reset();
    // A regroup that is overtaken is not worth finishing.
    inbox_.guard(
        state_.generation, [](const Assignment&) { return true; }, membership_->interrupt);
    const auto& point = membership_->meeting->point();
    if (assignment_->releases_gpus) {
      held_.join_copies(assignment_->model);
      if (!park(*assignment_, *membership_->meeting, held_)) return newer_assignment();
    } else {
      const double before = standstill_.seconds_so_far();
      move_state(*assignment_, *membership_, held_);
      membership_->times.regroup_seconds = before;
      membership_->times.transfer_seconds = standstill_.seconds_so_far() - before;
    }
    return event::Moved{.step = held_.step,
                        .updated_by = point ? point->updated_by : assignment_->generation,
                        .confirmed = point ? point->confirmed : 0};
  }

  Event confirm() {
    if (!membership_->meeting->confirm()) return newer_assignment();
    return event::Confirmed{.all_steps_are_done = held_.step >= assignment_->training.steps};
  }

  // --- training ---

  void begin_training() {
    // A planned change waits for the end of the step; one that goes on without somebody cannot.
    const auto goes_without_a_peer = [me = me(), running = assignment_](const Assignment& newer) {
      return order_of(newer, me, *running).drops_a_peer;
    };
    inbox_.guard(state_.generation, goes_without_a_peer, membership_->interrupt);
    held_.keep_arrived();
    is_first_step_ = true;
    membership_->known_step_seconds = step_seconds_;
    training_.emplace(*assignment_, *membership_, *batches_, writer_, held_);
    log_beginning(training_->progress(), membership_->rank());
  }

  Event compute() {
    training_->compute();
    return event::Computed{};
  }

  [[nodiscard]] bool may_vote() const {
    return assignment_->lease_seconds == 0 || inbox_.has_lease(assignment_->generation);
  }

  Event await_lease() {
    tell(WorkerPhase::kTraining);
    inbox_.wait_for_lease(state_.generation);
    if (!inbox_.has_newer_than(state_.generation)) return event::LeaseRenewed{};
    return newer_assignment();
  }

  Event vote() {
    const bool somebody_leaves =
        training_->vote({wants_to_leave(state_), successor_.is_waited_for(), successor_.feeding()});
    step_seconds_ = training_->mean_step_seconds();
    if (std::exchange(is_first_step_, false)) membership_->times.stopped_seconds = standstill_.seconds();
    standstill_.note_step();
    if (membership_->rank() == 0) log_step(training_->progress());
    tell(WorkerPhase::kTraining);
    return event::Voted{.somebody_leaves = somebody_leaves, .is_last_step = training_->is_done()};
  }

  // Takes note of a newer assignment. It is obeyed once it is prepared, unless it cannot wait.
  void listen() {
    is_closed_ = inbox_.is_closed();
    if (is_closed_) throw PeerLost("the agent is gone");
    preparations_.forget_ended();
    if (successor_.is_prepared()) handle(event::Prepared{successor_.generation()});
    note_newer();
    successor_.prepare(standing());
  }

  void note_newer() {
    auto newer = inbox_.newer_than(std::max(state_.generation, state_.next.generation));
    if (newer) handle(assigned(std::move(newer)));
  }

  // --- the rest ---

  // Of a generation that this worker does not obey yet, or that it has just begun to.
  [[nodiscard]] Standing standing() const {
    if (!is_training(state_.place)) return {.trains = 0, .is_empty = state_.account.updated_by == 0};
    return {.trains = state_.generation, .is_empty = false, .own = held_.slices().own};
  }

  [[nodiscard]] WorkerName me() const { return {settings_.agent, settings_.gpu}; }

  // With the job's progress, if this worker knows it.
  void tell(WorkerPhase phase) {
    const bool knows_progress = training_ && membership_ && membership_->rank() == 0;
    say(phase, message_of(phase), knows_progress ? std::optional(training_->progress()) : std::nullopt);
  }

  [[nodiscard]] std::string message_of(WorkerPhase phase) const {
    if (state_.place == Place::kPaused) return "waits for the operator, without whose word it may not train on alone";
    return phase == WorkerPhase::kBroken ? trouble_ : writer_.trouble();
  }

  void say(WorkerPhase phase, const std::string& message = "", const std::optional<JobProgress>& progress = {}) {
    news_.tell({phase, state_.generation, held_.step, message, progress});
  }

  const WorkerSettings& settings_;
  Inbox& inbox_;
  WorkerNews news_;
  WorkerState state_;
  std::shared_ptr<const Assignment> assignment_ = std::make_shared<const Assignment>();  // that is obeyed
  HeldState held_;
  Preparations preparations_;
  Successor successor_;                   // of state_.next
  std::optional<Prepared> forming_;       // of the generation that meets
  std::unique_ptr<Batches> batches_;      // of the newest that has met
  std::optional<Membership> membership_;  // of the newest that has met
  CheckpointWriter writer_;
  std::optional<Generation> training_;
  std::string trouble_;
  Standstill standstill_;
  double step_seconds_ = 0;     // of the last few steps; 0: none was done here
  bool is_first_step_ = false;  // of the generation
  bool is_closed_ = false;
};

}  // namespace

void run_worker(const WorkerSettings& settings, Inbox& inbox, Reporter& reporter) {
  Worker(settings, inbox, reporter).run();
}

}  // namespace sailor::trainer
