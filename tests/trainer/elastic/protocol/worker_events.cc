// What may happen to a worker of the explored world.
#include <algorithm>
#include <bit>

#include "tests/trainer/elastic/protocol/explorer.h"
#include "trainer/elastic/protocol/agent_machine.h"

namespace sailor::trainer::exploration {

void Explorer::hear(int id) {
  // Its agent hands on at once what it takes: whatever is late on this way could as well be late on the way to the
  // agent.
  const int taken = std::max(at(id).generation, at(id).next);
  for (int generation = 1; generation <= from_.sealed; ++generation) {
    const bool is_told = has(meeting(generation).members, id);
    if (is_told && takes(taken, generation)) step(id, event::Assigned{order_of(id, generation, false)});
  }
  const bool may_prepare = at(id).next > 0 && at(id).next_is_prepared == 0 && is_training(at(id).place);
  if (may_prepare) step(id, event::Prepared{at(id).next});
}

void Explorer::regroup(int id) {
  const Worker& worker = at(id);
  const Meeting& group = meeting(worker.generation);
  if (worker.place == Place::kMeeting && group.published == group.members && is_hosted(group)) meet(id, group);
  if (worker.place == Place::kMoving) move(id, group);
  if (worker.place == Place::kConfirming && group.moved == group.members && is_hosted(group)) confirm(id, group);
}

// The store lives in one member's agent.
bool Explorer::is_hosted(const Meeting& group) const { return !has(from_.crashed, std::countr_zero(group.members)); }

void Explorer::meet(int id, const Meeting& group) {
  const Agreement& agreement = agreement_of(group, at(id).generation);
  check_nothing_is_thrown_away(at(id).generation, agreement);
  const Holding& mine = agreement.holdings[static_cast<std::size_t>(id)];
  const bool offers_it = agreement.is_from_memory && can_offer(mine, agreement.point);
  const event::Met met{.can_offer = offers_it, .step = agreement.point.step, .updated_by = agreement.point.updated_by};
  step(id, met, [&](World& world) {
    put(world.meetings[at(id).generation].met, id);
    if (!offers_it) worker_of(world, id).slices = 0;
  });
}

void Explorer::move(int id, const Meeting& group) {
  const Agreement& agreement = agreement_of(group, at(id).generation);
  Mask slices = at(id).slices;
  for (const SliceMove& arriving : agreement.transfers.moves) {
    if (arriving.to != id) continue;
    if (!has(group.met, arriving.from)) return;  // it has not sent yet
    put(slices, arriving.slice);
  }
  const Mask wanted = group.roles[static_cast<std::size_t>(id)];
  if (!agreement.is_from_memory) slices = wanted;  // from the checkpoint
  if ((slices & wanted) != wanted) complain_("a worker has not got all slices of its role");
  const event::Moved moved{
      .step = agreement.point.step, .updated_by = agreement.point.updated_by, .confirmed = agreement.point.confirmed};
  step(id, moved, [&](World& world) {
    put(world.meetings[at(id).generation].moved, id);
    worker_of(world, id).slices = slices;
  });
}

void Explorer::confirm(int id, const Meeting& group) {
  step(id, event::Confirmed{.all_steps_are_done = false}, [&](World& world) {
    const Mask role = group.roles[static_cast<std::size_t>(id)];
    worker_of(world, id).slices = role;
    if (role != 0) note_confirmed(world.history, id);
  });
}

void Explorer::train(int id) {
  const Worker& worker = at(id);
  const Meeting& group = meeting(worker.generation);
  const auto next_step = static_cast<std::uint8_t>(worker.step + 1);
  if (worker.place == Place::kComputing && worker.step < limits_.steps && have_all(group, group.computing, next_step)) {
    step(id, event::Computed{});
  }
  const bool may_apply = !is_alone(worker.generation) || has(from_.leased, id);
  if (worker.place == Place::kVoting && have_all(group, group.voting, next_step) && may_apply) {
    step(id, event::Voted{.somebody_leaves = group.leaving == next_step, .is_last_step = false},
         [&](World& world) { note_applied(world.history, next_step, worker.generation); });
  }
}

bool Explorer::have_all(const Meeting& group, const std::array<std::uint8_t, kWorkers>& reached, int step) {
  for (std::size_t peer = 0; peer < kWorkers; ++peer) {
    if (group.roles[peer] != 0 && reached[peer] < step) return false;
  }
  return true;
}

bool Explorer::is_alone(int generation) const {
  return std::ranges::count_if(meeting(generation).roles, [](Mask role) { return role != 0; }) == 1;
}

void Explorer::keep_lease(int id) {
  const Worker& worker = at(id);
  if (!is_training(worker.place) || !is_alone(worker.generation)) return;
  const bool holds = has(from_.leased, id);
  if (worker.place == Place::kVoting && !holds) step(id, event::LeaseLapsed{});
  if (worker.place == Place::kPaused && holds) step(id, event::LeaseRenewed{});
  const bool is_renewed = !has(from_.suspected, id) && renews_lease(worker.generation, from_.record, 0);
  if (holds == is_renewed) return;
  World world = from_;
  is_renewed ? put(world.leased, id) : remove(world.leased, id);
  keep(std::move(world), false);
}

bool Explorer::may_lose_a_peer(int id) const {
  const Worker& worker = at(id);
  if (worker.place == Place::kIdle || worker.place == Place::kBroken || worker.place == Place::kReleased) return false;
  const Meeting& group = meeting(worker.generation);
  const bool trains = is_training(worker.place);
  const bool needs_store = worker.place == Place::kMeeting || worker.place == Place::kConfirming;
  if (needs_store && !is_hosted(group)) return true;
  for (int peer = 0; peer < kWorkers; ++peer) {
    const bool is_peer =
        peer != id && (trains ? group.roles[static_cast<std::size_t>(peer)] != 0 : has(group.members, peer));
    if (is_peer && (group.is_cut != 0 || is_lost(peer, worker.generation))) return true;
  }
  return false;
}

bool Explorer::is_lost(int peer, int generation) const {
  const Worker& worker = at(peer);
  const bool has_closed = worker.place == Place::kBroken;
  return has(from_.crashed, peer) || has(from_.suspected, peer) || worker.generation > generation ||
         (worker.generation == generation && has_closed);
}

}  // namespace sailor::trainer::exploration
