// The actions of the operator of the explored world, and the faults. The operator writes records, commits memberships
// and learns whether pods answer. It keeps nothing in memory, so its crash is a delay.
#include <algorithm>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {

void Explorer::operate() {
  if (from_.record == from_.committed) {
    write_next_record();
  } else {
    claim_folder();
    commit_membership();
    if (from_.is_voluntary != 0 && from_.withdrawals < limits_.withdrawals) withdraw();
  }
  for (int id = 0; id < kWorkers; ++id) {
    World world = from_;
    if (has(from_.unresponsive, id)) {
      remove(world.unresponsive, id);
      keep(world, {TransitionKind::kAnswersAgain, id, at(id).generation});
    } else if (has(from_.stale, id) || may_be_deleted(id)) {
      end(world, {TransitionKind::kIsDeleted, id, at(id).generation});
    }
  }
}

void Explorer::write_next_record() {
  const bool releases_gpus = from_.releases_gpus != 0;
  if (releases_gpus && may_restart_job()) write_record(TransitionKind::kRestartsJob);
  if (is_in_trouble()) give_up(releases_gpus ? TransitionKind::kReleasesGpus : TransitionKind::kReplacesLostWorker);
  if (releases_gpus || (from_.change == 0 && !trains(from_, limits_))) return;
  if (from_.change < limits_.changes) write_record(TransitionKind::kWritesPlannedChange);
  if (from_.releases < limits_.releases) write_record(TransitionKind::kReleasesGpus);
}

bool Explorer::is_in_trouble() const {
  const Rendezvous& group = rendezvous(from_.committed);
  for (int id = 0; id < kWorkers; ++id) {
    const bool is_gone = has(from_.crashed, id) || has(from_.unresponsive, id);
    const bool is_needed =
        from_.releases_gpus != 0 ? has(group.members, id) : group.roles[static_cast<std::size_t>(id)] != 0;
    if (is_needed && is_gone) return true;
    if (!is_gone && at(id).place == WorkerPlace::kBroken && at(id).generation == from_.committed) return true;
  }
  return false;
}

// A released job may start again once all live workers are released, or once a worker could not save.
bool Explorer::may_restart_job() const {
  const Mask alive = static_cast<Mask>(rendezvous(from_.committed).members & ~from_.crashed);
  bool all_are_released = true;
  for (int id = 0; id < kWorkers; ++id) {
    const bool is_released = at(id).place == WorkerPlace::kReleased && at(id).generation == from_.committed;
    all_are_released = all_are_released && (is_released || !has(alive, id));
  }
  return all_are_released || is_unsaved();
}

// A worker that could not save continues from its memory.
bool Explorer::is_unsaved() const {
  return std::ranges::any_of(from_.workers, [&](const Worker& worker) {
    return worker.place == WorkerPlace::kBroken && worker.generation == from_.committed;
  });
}

Mask Explorer::holders() const {
  Mask found = 0;
  for (int id = 0; id < kWorkers; ++id) {
    const bool holds_any = at(id).place != WorkerPlace::kIdle && at(id).place != WorkerPlace::kReleased;
    if (holds_any && !has(from_.crashed, id)) put(found, id);
  }
  return found;
}

void Explorer::write_record(TransitionKind kind, Mask excluded) {
  World world = from_;
  world.record = ++world.issued;
  if (world.record >= kGenerations) return report_violation("generations are made without end");
  world.is_voluntary = kind == TransitionKind::kWritesPlannedChange && trains(from_, limits_) ? 1 : 0;
  world.releases_gpus = kind == TransitionKind::kReleasesGpus ? 1 : 0;
  if (kind == TransitionKind::kWritesPlannedChange) ++world.change;
  if (kind == TransitionKind::kRestartsJob && !is_unsaved()) world.stale = holders();
  if (kind == TransitionKind::kReleasesGpus && from_.releases_gpus == 0) ++world.releases;
  if (is_in_trouble())
    world.noticed_paths =
        static_cast<Mask>(world.noticed_paths | broken_paths_among(rendezvous(from_.committed).members));
  world.unreachable = static_cast<Mask>(world.unreachable | excluded);
  keep(world, {kind, -1, world.record});
}

// No agent has been notified of this generation. Its number is not used again.
void Explorer::withdraw() {
  World world = from_;
  world.record = world.committed;
  world.is_voluntary = 0;
  ++world.withdrawals;
  keep(world, {TransitionKind::kWithdrawsChange, -1, from_.record});
}

Rendezvous Explorer::planned() const {
  Rendezvous next;
  std::vector<int> usable;
  for (int id = 0; id < kWorkers; ++id) {
    if (!has(from_.crashed | from_.unresponsive | from_.stale | from_.unreachable, id)) usable.push_back(id);
  }
  if (from_.releases_gpus == 0) give_roles(usable, next);
  return next;
}

// The operator waits for a generation that trains alone, so it has the folder claimed for the newest one.
void Explorer::claim_folder() {
  const Rendezvous next = planned();
  if (from_.claim == from_.record || next.members == 0 || trains_on(from_) != 0) return;
  const std::vector<PodState> pods = pod_states(next, false);
  const auto taking_part = rules_.participants(pods);
  if (!taking_part) return;
  const auto is_lone = [&](int generation) { return is_alone(from_, generation); };
  if (std::ranges::none_of(unfenced(pods, *taking_part), is_lone)) return;
  World world = from_;
  world.claim = from_.record;
  keep(world, {TransitionKind::kClaimsFolder, -1, from_.record});
}

void Explorer::commit_membership() {
  const Rendezvous next = planned();
  if (from_.releases_gpus == 0 && next.members == 0) return;
  // Reports may be arbitrarily late: the late ones are from before any agent was notified of anything.
  for (const bool is_late : {false, true}) {
    const std::vector<PodState> pods = pod_states(next, is_late);
    const auto taking_part = rules_.participants(pods);
    if (!taking_part) continue;
    if (from_.releases_gpus == 0 && !unfenced(pods, *taking_part).empty())
      continue;  // a job that releases its GPUs need not wait, because it does not train
    check_holders_are_invited(*taking_part);
    World world = from_;
    world.committed = world.record;
    world.is_voluntary = 0;
    world.rendezvous_of[world.record] = next;
    world.replaced = 0;
    for (const std::size_t id : *taking_part) {
      put(world.rendezvous_of[world.record].members, static_cast<int>(id));
      if (is_alone(from_, from_.committed) && rendezvous(from_.committed).roles[id] != 0)
        world.replaced = from_.committed;
    }
    keep(world, {TransitionKind::kCommitsMembership, -1, world.record});
  }
}

std::vector<PodState> Explorer::pod_states(const Rendezvous& next, bool is_late) const {
  std::vector<PodState> pods(kWorkers);
  for (int id = 0; id < kWorkers; ++id) {
    const Worker& worker = at(id);
    PodState& pod = pods[static_cast<std::size_t>(id)];
    pod.has_slot = has(next.members, id);
    pod.is_dead = has(from_.crashed, id);
    pod.contact = pod.is_dead || has(from_.unresponsive, id) ? AgentContact::kUnresponsive : AgentContact::kAnswers;
    pod.is_ready = true;
    pod.is_stale = has(from_.stale, id);
    pod.is_unreachable = has(from_.unreachable, id);
    pod.holds_state = !is_late && worker.generation > 0 && worker.place != WorkerPlace::kReleased;
    pod.reported = is_late ? 0 : worker.generation;
    for (int generation = 1; generation <= from_.committed; ++generation) {
      if (has(rendezvous(generation).members, id)) pod.notified = generation;
    }
  }
  return pods;
}

// Assigns the plan that each change asks for to the usable workers: first two replicas; then two stages and a replica
// of both; then one replica.
void Explorer::give_roles(const std::vector<int>& usable, Rendezvous& next) const {
  const std::size_t wanted = std::array{std::size_t{2}, std::size_t{3}, std::size_t{1}}[from_.change];
  const std::size_t count = std::min(wanted, usable.size());
  for (std::size_t i = 0; i < count; ++i) {
    const int id = from_.change == 2 ? usable[usable.size() - 1 - i] : usable[i];
    const bool is_split = from_.change == 1 && count > 1 && i < 2;
    next.roles[static_cast<std::size_t>(id)] = is_split ? static_cast<Mask>(1U << i) : kAllUnits;
    put(next.members, id);
  }
}

std::vector<int> Explorer::unfenced(const std::vector<PodState>& pods,
                                    const std::vector<std::size_t>& taking_part) const {
  std::vector<int> found;
  for (int generation = 1; generation <= from_.committed; ++generation) {
    OlderGeneration older{.generation = generation, .pods = {}};
    bool is_leased = generation == trains_on(from_);
    for (int id = 0; id < kWorkers; ++id) {
      if (rendezvous(generation).roles[static_cast<std::size_t>(id)] == 0) continue;
      older.pods.push_back(static_cast<std::size_t>(id));
      is_leased = is_leased || has(from_.leased, id);
    }
    // The operator waits for the length of a lease, after which no lease is left that was given before.
    older.lease_has_lapsed =
        rules_.has_lapsed({.is_unrenewed = !is_leased, .is_claimed = !is_leased && from_.claim > generation});
    if (!older.pods.empty() && !rules_.is_fenced(older, pods, taking_part)) found.push_back(generation);
  }
  return found;
}

void Explorer::fail() {
  for (int id = 0; id < kWorkers; ++id) {
    if (has(from_.crashed, id)) continue;
    const int generation = at(id).generation;
    World without = faulty();
    end(without, {TransitionKind::kCrashes, id, generation});
    if (!has(from_.unresponsive, id)) {
      World world = faulty();
      put(world.unresponsive, id);
      keep(world, {TransitionKind::kIsPartitioned, id, generation});
    }
    if (generation > 0 && rendezvous(generation).is_disconnected == 0) {
      World world = faulty();
      world.rendezvous_of[at(id).generation].is_disconnected = 1;
      keep(world, {TransitionKind::kLosesConnection, id, generation});
    }
    const bool is_saving =
        at(id).place == WorkerPlace::kTransferring && rendezvous(generation).roles == Rendezvous{}.roles;
    if (is_saving) step(faulty(), {TransitionKind::kCannotSave, id, generation}, event::GenerationFailed{});
  }
  if (limits_.paths_break) break_paths();
}

World Explorer::faulty() const {
  World world = from_;
  ++world.faults;
  return world;
}

// The pod ends and loses its memory.
void Explorer::end(World& world, const Transition& transition) {
  worker_of(world, transition.worker) = {};
  put(world.crashed, transition.worker);
  remove(world.unresponsive, transition.worker);
  remove(world.leased, transition.worker);
  remove(world.stale, transition.worker);
  remove(world.unreachable, transition.worker);
  // The path between the other two workers remains.
  world.broken_paths &= static_cast<Mask>(1U << transition.worker);
  world.noticed_paths &= world.broken_paths;
  keep(world, transition);
}

}  // namespace sailor::trainer::exploration
