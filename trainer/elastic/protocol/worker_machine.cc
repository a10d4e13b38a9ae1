#include "trainer/elastic/protocol/worker_machine.h"

#include <utility>

namespace sailor::trainer {
namespace {

bool is_over(WorkerPlace place) { return place == WorkerPlace::kDone; }

// Returns true if the worker obeys a newer generation immediately. While it trains, it first finishes the step. In all
// other places it has nothing to finish: a regroup is useless once a newer generation is known.
bool obeys_at_once(WorkerPlace place) {
  switch (place) {
    case WorkerPlace::kIdle:
    case WorkerPlace::kRendezvous:
    case WorkerPlace::kTransferring:
    case WorkerPlace::kConfirming:
    case WorkerPlace::kAwaitingLease:  // has not voted
    case WorkerPlace::kBroken:
    case WorkerPlace::kReleased:
      return true;
    default:
      return false;
  }
}

WorkerState released(WorkerState state) {
  state.place = WorkerPlace::kReleased;
  state.version = {};
  return state;
}

WorkerState obey_next(WorkerState state) {
  const Command command = std::exchange(state.next, {});
  state.generation = command.generation;
  state.has_role = command.has_role;
  state.place = WorkerPlace::kRendezvous;
  return command.has_slot ? state : released(state);
}

WorkerState broken(WorkerState state) {
  if (state.next.generation > 0) return obey_next(state);
  state.place = WorkerPlace::kBroken;
  return state;
}

WorkerState on(WorkerState state, const event::Assigned& event) {
  const bool is_newer = event.command.generation > state.generation && event.command.generation > state.next.generation;
  if (!is_newer || is_over(state.place)) return state;
  state.next = event.command;
  const bool goes_now = obeys_at_once(state.place) || must_break_off(state, event.command);
  return goes_now ? obey_next(state) : state;
}

WorkerState on(WorkerState state, const event::PreparationOver& event) {
  if (state.next.generation == event.generation) state.next.preparation_is_over = true;
  return state;
}

WorkerState on(WorkerState state, const event::StateStreamed& event) {
  const bool may = state.place == WorkerPlace::kRendezvous && state.version.updated_by == 0;
  if (!may) return state;
  state.version = {.updated_by = event.updated_by,
                   .step = event.step,
                   .confirmed = event.generation,
                   .has_gradients = false,
                   .may_be_behind = !event.is_final};
  return state;
}

WorkerState on(WorkerState state, const event::StateReportsKnown& event) {
  if (state.place != WorkerPlace::kRendezvous) return state;
  state.place = WorkerPlace::kTransferring;
  if (!event.can_offer) state.version = {};
  if (event.can_offer) {
    state.version.step = event.step;
    state.version.updated_by = event.updated_by;
    state.version.has_gradients = false;
    state.version.may_be_behind = event.may_be_behind;
  }
  return state;
}

WorkerState on(WorkerState state, const event::StateTransferred& event) {
  if (state.place != WorkerPlace::kTransferring) return state;
  state.place = WorkerPlace::kConfirming;
  const bool holds_any = state.has_role || state.version.updated_by > 0;
  if (holds_any) {
    state.version = {.updated_by = event.updated_by,
                     .step = event.step,
                     .confirmed = event.confirmed,
                     .has_gradients = false,
                     .may_be_behind = event.may_be_behind};
  }
  return state;
}

WorkerState on(WorkerState state, const event::Confirmed& event) {
  if (state.place != WorkerPlace::kConfirming) return state;
  if (!state.has_role) return released(state);
  state.version.confirmed = state.generation;
  state.version.may_be_behind = false;
  state.place = event.all_steps_are_done ? WorkerPlace::kFinishing : WorkerPlace::kComputing;
  return state;
}

WorkerState on(WorkerState state, const event::Computed&) {
  if (state.place != WorkerPlace::kComputing) return state;
  state.version.has_gradients = true;
  state.place = WorkerPlace::kVoting;
  return state;
}

WorkerState on(WorkerState state, const event::Voted& event) {
  if (state.place != WorkerPlace::kVoting) return state;
  ++state.version.step;
  state.version.updated_by = state.generation;
  state.version.has_gradients = false;
  if (event.is_last_step) {
    state.place = WorkerPlace::kFinishing;
  } else if (event.somebody_leaves) {
    return broken(state);  // the generation is over; a worker that does not know the next one yet waits for it
  } else {
    state.place = WorkerPlace::kComputing;
  }
  return state;
}

WorkerState on(WorkerState state, const event::LeaseLapsed&) {
  if (state.place != WorkerPlace::kVoting) return state;
  state.place = WorkerPlace::kAwaitingLease;
  return state.next.generation > 0 ? obey_next(state) : state;
}

WorkerState on(WorkerState state, const event::LeaseRenewed&) {
  if (state.place == WorkerPlace::kAwaitingLease) state.place = WorkerPlace::kVoting;
  return state;
}

WorkerState on(WorkerState state, const event::Finished&) {
  if (state.place == WorkerPlace::kFinishing) state.place = WorkerPlace::kDone;
  return state;
}

WorkerState on(WorkerState state, const event::GenerationFailed&) {
  const bool has_peers = state.place != WorkerPlace::kIdle && state.place != WorkerPlace::kReleased &&
                         state.place != WorkerPlace::kBroken && !is_over(state.place);
  return has_peers ? broken(state) : state;
}

}  // namespace

WorkerState after(WorkerState state, const Event& event) {
  return std::visit([&](const auto& which) { return on(state, which); }, event);
}

bool is_training(WorkerPlace place) {
  return place == WorkerPlace::kComputing || place == WorkerPlace::kVoting || place == WorkerPlace::kAwaitingLease;
}

bool wants_to_leave(const WorkerState& state) { return state.next.generation > 0 && state.next.preparation_is_over; }

bool must_break_off(const WorkerState& state, const Command& command) {
  return command.generation > state.generation && is_training(state.place) && command.drops_a_peer;
}

}  // namespace sailor::trainer
