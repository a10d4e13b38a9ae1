// The events of a worker of the explored world.
#include <algorithm>
#include <bit>

#include "tests/trainer/elastic/protocol/explorer.h"
#include "tests/trainer/elastic/protocol/progress.h"

namespace sailor::trainer::exploration {

void Explorer::receive_assignments(int id) {
  // The agent forwards an assignment at once. A delay here is equivalent to a delay on the way to the agent.
  const int taken = std::max(at(id).generation, at(id).next);
  for (int generation = 1; generation <= from_.committed; ++generation) {
    const bool has_reported = has(rendezvous(generation).members, id);
    if (!has_reported || !rules_.takes(taken, generation)) continue;
    step(from_, {TransitionKind::kReceivesAssignment, id, generation},
         event::Assigned{command_of(id, generation, false)});
  }
  const int next = at(id).next;
  const bool may_prepare = next > 0 && at(id).next_is_prepared == 0 && is_training(at(id).place);
  if (may_prepare) step(from_, {TransitionKind::kIsPrepared, id, next}, event::PreparationOver{next});
}

void Explorer::regroup(int id) {
  const Worker& worker = at(id);
  const Rendezvous& group = rendezvous(worker.generation);
  if (worker.place == WorkerPlace::kRendezvous && group.published == group.members && is_hosted(group)) meet(id, group);
  if (worker.place == WorkerPlace::kTransferring) move(id, group);
  if (worker.place == WorkerPlace::kConfirming && group.moved == group.members && is_hosted(group)) confirm(id, group);
}

// The store lives in one member's agent.
bool Explorer::is_hosted(const Rendezvous& group) const { return !has(from_.crashed, std::countr_zero(group.members)); }

void Explorer::meet(int id, const Rendezvous& group) {
  const Agreement& agreement = agreements_.of(group);
  check_nothing_is_thrown_away(at(id).generation, agreement);
  const StateReport& mine = agreement.state_reports[static_cast<std::size_t>(id)];
  const ResumePoint point = agreement.point.value_or(ResumePoint{});
  const bool offers_it = agreement.point && rules_.can_offer(mine, point);
  World world = from_;
  Rendezvous& here = world.rendezvous_of[at(id).generation];
  put(here.met, id);
  const bool picks = !agreement.point && id == std::countr_zero(group.members);
  if (picks) here.chosen_checkpoint = static_cast<std::uint8_t>(from_.checkpoint + 1);
  if (!offers_it) worker_of(world, id).units = 0;
  step(world, {TransitionKind::kCompletesRendezvous, id, at(id).generation},
       event::StateReportsKnown{.can_offer = offers_it,
                                .step = point.step,
                                .updated_by = point.updated_by,
                                .may_be_behind = point.may_be_behind});
}

void Explorer::move(int id, const Rendezvous& group) {
  const Agreement& agreement = agreements_.of(group);
  const bool releases_gpus = group.roles == Rendezvous{}.roles;
  if (releases_gpus && agreement.point && !has(group.saved, id)) {
    save(id);
  } else if (!releases_gpus || !agreement.point || may_end_saving(id, group)) {
    take(id, group, agreement);
  }
}

void Explorer::save(int id) {
  World world = from_;
  put(world.rendezvous_of[at(id).generation].saved, id);
  keep(world, {TransitionKind::kSavesShards, id, at(id).generation});
}

// Once all have saved their shards, the first completes the checkpoint and the others wait for it.
bool Explorer::may_end_saving(int id, const Rendezvous& group) const {
  const int first = std::countr_zero(group.members);
  return group.saved == group.members && is_hosted(group) && (id == first || has(group.moved, first));
}

void Explorer::take(int id, const Rendezvous& group, const Agreement& agreement) {
  World world = from_;
  Mask& units = worker_of(world, id).units;
  for (const UnitMove& arriving : agreement.transfers.moves) {
    if (arriving.to != id) continue;
    if (!has(group.met, arriving.from)) return;  // it has not sent yet
    put(units, arriving.unit);
  }
  const Mask wanted = group.roles[static_cast<std::size_t>(id)];
  if (!agreement.point && group.chosen_checkpoint == 0) return;
  if (!agreement.point) units = wanted;  // from the checkpoint
  if ((units & wanted) != wanted) report_violation("a worker does not have all units of its role");
  const auto point =
      agreement.point.value_or(ResumePoint{.step = group.chosen_checkpoint - 1, .updated_by = at(id).generation});
  put(world.rendezvous_of[at(id).generation].moved, id);
  const bool completes = agreement.point && group.saved != 0 && group.moved == 0;
  if (completes) world.checkpoint = static_cast<std::uint8_t>(std::max<std::int64_t>(world.checkpoint, point.step));
  step(world, {TransitionKind::kTransfersState, id, at(id).generation},
       event::StateTransferred{.step = point.step,
                               .updated_by = point.updated_by,
                               .confirmed = point.confirmed,
                               .may_be_behind = point.may_be_behind});
}

void Explorer::confirm(int id, const Rendezvous& group) {
  World world = from_;
  const Mask role = group.roles[static_cast<std::size_t>(id)];
  worker_of(world, id).units = role;
  step(world, {TransitionKind::kConfirms, id, at(id).generation}, event::Confirmed{.all_steps_are_done = false});
}

void Explorer::train(int id) {
  const Worker& worker = at(id);
  const Rendezvous& group = rendezvous(worker.generation);
  const auto next_step = static_cast<std::uint8_t>(worker.step + 1);
  if (worker.place == WorkerPlace::kComputing && worker.step < limits_.steps &&
      have_all(group, group.computing, next_step)) {
    compute(id);
  }
  const bool may_apply = !is_alone(from_, worker.generation) || has(from_.leased, id);
  if (worker.place == WorkerPlace::kVoting && have_all(group, group.voting, next_step) && may_apply) {
    const double leaving = group.leaving == next_step ? 1 : 0, waiting = group.waiting == next_step ? 1 : 0;
    step(from_, {TransitionKind::kAppliesUpdate, id, worker.generation},
         event::Voted{.somebody_leaves = rules_.ends_generation(leaving, waiting), .is_last_step = false});
  }
}

bool Explorer::have_all(const Rendezvous& group, const std::array<std::uint8_t, kWorkers>& reached, int step) {
  for (std::size_t peer = 0; peer < kWorkers; ++peer) {
    if (group.roles[peer] != 0 && reached[peer] < step) return false;
  }
  return true;
}

void Explorer::keep_lease(int id) {
  const Worker& worker = at(id);
  if (!is_training(worker.place) || !is_alone(from_, worker.generation)) return;
  const bool holds = has(from_.leased, id);
  if (worker.place == WorkerPlace::kVoting && !holds)
    step(from_, {TransitionKind::kPauses, id, worker.generation}, event::LeaseLapsed{});
  if (worker.place == WorkerPlace::kAwaitingLease && holds)
    step(from_, {TransitionKind::kResumes, id, worker.generation}, event::LeaseRenewed{});
  const bool is_renewed = is_lease_renewed(from_, id, rules_);
  if (holds == is_renewed) return;
  World world = from_;
  is_renewed ? put(world.leased, id) : remove(world.leased, id);
  keep(world, {TransitionKind::kLeaseChanges, id, worker.generation});
}

bool Explorer::may_lose_a_peer(int id) const {
  const Worker& worker = at(id);
  if (worker.place == WorkerPlace::kIdle || worker.place == WorkerPlace::kBroken ||
      worker.place == WorkerPlace::kReleased)
    return false;
  const Rendezvous& group = rendezvous(worker.generation);
  const bool trains = is_training(worker.place);
  const bool needs_store = worker.place == WorkerPlace::kRendezvous || worker.place == WorkerPlace::kConfirming;
  if (needs_store && !is_hosted(group)) return true;
  for (int peer = 0; peer < kWorkers; ++peer) {
    const bool is_peer =
        peer != id && (trains ? group.roles[static_cast<std::size_t>(peer)] != 0 : has(group.members, peer));
    if (is_peer && (group.is_disconnected != 0 || is_path_broken(id, peer) || is_lost(peer, worker.generation)))
      return true;
  }
  return false;
}

bool Explorer::is_lost(int peer, int generation) const {
  const Worker& worker = at(peer);
  const bool has_closed = worker.place == WorkerPlace::kBroken;
  return has(from_.crashed, peer) || has(from_.unresponsive, peer) || worker.generation > generation ||
         (worker.generation == generation && has_closed);
}

}  // namespace sailor::trainer::exploration
