#include "trainer/elastic/protocol/worker_machine.h"

#include <utility>

namespace sailor::trainer {
namespace {

bool is_over(Place place) { return place == Place::kDone; }

// Between generations nothing is left to be finished first; nor is a regroup worth finishing that is overtaken.
bool obeys_at_once(Place place) {
  switch (place) {
    case Place::kIdle:
    case Place::kMeeting:
    case Place::kMoving:
    case Place::kConfirming:
    case Place::kPaused:  // has not voted
    case Place::kBroken:
    case Place::kReleased:
      return true;
    default:
      return false;
  }
}

WorkerState released(WorkerState state) {
  state.place = Place::kReleased;
  state.account = {};
  return state;
}

WorkerState obey_next(WorkerState state) {
  const Order order = std::exchange(state.next, {});
  state.generation = order.generation;
  state.has_role = order.has_role;
  state.place = Place::kMeeting;
  return order.has_slot ? state : released(state);
}

WorkerState broken(WorkerState state) {
  if (state.next.generation > 0) return obey_next(state);
  state.place = Place::kBroken;
  return state;
}

WorkerState on(WorkerState state, const event::Assigned& event) {
  const bool is_newer = event.order.generation > state.generation && event.order.generation > state.next.generation;
  if (!is_newer || is_over(state.place)) return state;
  state.next = event.order;
  const bool goes_now = obeys_at_once(state.place) || must_break_off(state, event.order);
  return goes_now ? obey_next(state) : state;
}

WorkerState on(WorkerState state, const event::Prepared& event) {
  if (state.next.generation == event.generation) state.next.is_prepared = true;
  return state;
}

WorkerState on(WorkerState state, const event::Followed& event) {
  const bool may = state.place == Place::kMeeting && state.account.updated_by == 0;
  if (may) state.account = {.updated_by = event.generation, .step = event.step, .confirmed = event.generation};
  return state;
}

WorkerState on(WorkerState state, const event::Met& event) {
  if (state.place != Place::kMeeting) return state;
  state.place = Place::kMoving;
  if (!event.can_offer) state.account = {};
  if (event.can_offer) {
    state.account.step = event.step;
    state.account.updated_by = event.updated_by;
    state.account.has_gradients = false;
  }
  return state;
}

WorkerState on(WorkerState state, const event::Moved& event) {
  if (state.place != Place::kMoving) return state;
  state.place = Place::kConfirming;
  const bool holds_any = state.has_role || state.account.updated_by > 0;
  if (holds_any) state.account = {.updated_by = event.updated_by, .step = event.step, .confirmed = event.confirmed};
  return state;
}

WorkerState on(WorkerState state, const event::Confirmed& event) {
  if (state.place != Place::kConfirming) return state;
  if (!state.has_role) return released(state);
  state.account.confirmed = state.generation;
  state.place = event.all_steps_are_done ? Place::kFinishing : Place::kComputing;
  return state;
}

WorkerState on(WorkerState state, const event::Computed&) {
  if (state.place != Place::kComputing) return state;
  state.account.has_gradients = true;
  state.place = Place::kVoting;
  return state;
}

WorkerState on(WorkerState state, const event::Voted& event) {
  if (state.place != Place::kVoting) return state;
  ++state.account.step;
  state.account.updated_by = state.generation;
  state.account.has_gradients = false;
  if (event.is_last_step) {
    state.place = Place::kFinishing;
  } else if (event.somebody_leaves) {
    return broken(state);  // the generation is over; who has not heard of the next one yet waits for it
  } else {
    state.place = Place::kComputing;
  }
  return state;
}

WorkerState on(WorkerState state, const event::LeaseLapsed&) {
  if (state.place != Place::kVoting) return state;
  state.place = Place::kPaused;
  return state.next.generation > 0 ? obey_next(state) : state;
}

WorkerState on(WorkerState state, const event::LeaseRenewed&) {
  if (state.place == Place::kPaused) state.place = Place::kVoting;
  return state;
}

WorkerState on(WorkerState state, const event::Finished&) {
  if (state.place == Place::kFinishing) state.place = Place::kDone;
  return state;
}

WorkerState on(WorkerState state, const event::PeerLost&) {
  const bool has_peers = state.place != Place::kIdle && state.place != Place::kReleased &&
                         state.place != Place::kBroken && !is_over(state.place);
  return has_peers ? broken(state) : state;
}

}  // namespace

WorkerState after(WorkerState state, const Event& event) {
  return std::visit([&](const auto& which) { return on(state, which); }, event);
}

bool is_training(Place place) {
  return place == Place::kComputing || place == Place::kVoting || place == Place::kPaused;
}

bool wants_to_leave(const WorkerState& state) { return state.next.generation > 0 && state.next.is_prepared; }

bool must_break_off(const WorkerState& state, const Order& order) {
  return order.generation > state.generation && is_training(state.place) && order.drops_a_peer;
}

}  // namespace sailor::trainer
