// What the operator of the explored world may do: it writes, seals and hears, and keeps nothing in memory, so its crash
// is a delay. And what may go wrong.
#include <algorithm>

#include "planner/model/check.h"
#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {

void Explorer::operate() {
  if (from_.record == from_.sealed) {
    ask();
  } else {
    seal();
    if (from_.is_voluntary != 0 && from_.withdrawals < limits_.withdrawals) withdraw();
  }
  for (int id = 0; id < kWorkers; ++id) {
    if (!has(from_.suspected, id)) continue;
    World world = from_;
    remove(world.suspected, id);
    keep(world, {What::kAnswersAgain, id, at(id).generation});
  }
}

void Explorer::ask() {
  const bool is_parking = from_.parks != 0;
  if (is_parking && is_parked()) write_record(What::kGivesUp);
  if (is_in_trouble()) write_record(is_parking ? What::kParks : What::kGivesUp);
  if (is_parking || (from_.change == 0 && !trains(from_, limits_))) return;
  if (from_.change < limits_.changes) write_record(What::kIsAsked);
  if (from_.parkings < limits_.parkings) write_record(What::kParks);
}

bool Explorer::is_in_trouble() const {
  const Meeting& group = meeting(from_.sealed);
  for (int id = 0; id < kWorkers; ++id) {
    const bool is_gone = has(from_.crashed, id) || has(from_.suspected, id);
    const bool is_needed = from_.parks != 0 ? has(group.members, id) : group.roles[static_cast<std::size_t>(id)] != 0;
    if (is_needed && is_gone) return true;
    if (!is_gone && at(id).place == Place::kBroken && at(id).generation == from_.sealed) return true;
  }
  return false;
}

// All who can have saved, or one could not: then the job starts again, where there was one with its state in memory.
bool Explorer::is_parked() const {
  bool all_are_released = true;
  for (int id = 0; id < kWorkers; ++id) {
    if (has(from_.crashed, id) || !has(meeting(from_.sealed).members, id)) continue;
    if (at(id).place == Place::kBroken && at(id).generation == from_.sealed) return true;
    all_are_released = all_are_released && at(id).place == Place::kReleased && at(id).generation == from_.sealed;
  }
  return all_are_released;
}

void Explorer::write_record(What what) {
  World world = from_;
  world.record = ++world.issued;
  SAILOR_CHECK(world.record < kGenerations, "generation {} is beyond the table", world.record);
  world.is_voluntary = what == What::kIsAsked && trains(from_, limits_) ? 1 : 0;
  world.parks = what == What::kParks ? 1 : 0;
  if (what == What::kIsAsked) ++world.change;
  if (what == What::kParks && from_.parks == 0) ++world.parkings;
  keep(world, {what, -1, world.record});
}

// Nobody has been told of it; its number is not given again.
void Explorer::withdraw() {
  World world = from_;
  world.record = world.sealed;
  world.is_voluntary = 0;
  ++world.withdrawals;
  keep(world, {What::kWithdraws, -1, from_.record});
}

void Explorer::seal() {
  Meeting next;
  std::vector<int> usable;
  for (int id = 0; id < kWorkers; ++id) {
    if (!has(from_.crashed, id) && !has(from_.suspected, id)) usable.push_back(id);
  }
  if (from_.parks == 0) give_roles(usable, next);
  if (from_.parks == 0 && next.members == 0) return;
  // Reports come late: whoever answers may have said that it holds nothing before it was told, or not since.
  for (const bool is_late : {false, true}) {
    const std::vector<PodStanding> pods = standings(next, is_late);
    const auto taking_part = rules_.participants(pods);
    if (!taking_part) continue;
    if (from_.parks == 0 && !all_are_fenced(pods, *taking_part)) continue;  // who parks does not train
    World world = from_;
    world.sealed = world.record;
    world.is_voluntary = 0;
    world.meetings[world.record] = next;
    for (const std::size_t id : *taking_part) put(world.meetings[world.record].members, static_cast<int>(id));
    keep(world, {What::kSeals, -1, world.record});
  }
}

std::vector<PodStanding> Explorer::standings(const Meeting& next, bool is_late) const {
  std::vector<PodStanding> pods(kWorkers);
  for (int id = 0; id < kWorkers; ++id) {
    const Worker& worker = at(id);
    PodStanding& pod = pods[static_cast<std::size_t>(id)];
    pod.has_slot = has(next.members, id);
    pod.is_dead = has(from_.crashed, id);
    pod.hearing = pod.is_dead || has(from_.suspected, id) ? Hearing::kSilent : Hearing::kAnswers;
    pod.is_ready = true;
    pod.holds_state = is_late || (worker.generation > 0 && worker.place != Place::kReleased);
    pod.reported = worker.generation;
    for (int generation = 1; generation <= from_.sealed; ++generation) {
      if (has(meeting(generation).members, id)) pod.told = generation;
    }
  }
  return pods;
}

// The plan that each change asks for, on what there is: two replicas; then two stages and a replica of both; then
// one.
void Explorer::give_roles(const std::vector<int>& usable, Meeting& next) const {
  const std::size_t wanted = std::array{std::size_t{2}, std::size_t{3}, std::size_t{1}}[from_.change];
  const std::size_t count = std::min(wanted, usable.size());
  for (std::size_t i = 0; i < count; ++i) {
    const int id = from_.change == 2 ? usable[usable.size() - 1 - i] : usable[i];
    const bool is_split = from_.change == 1 && count > 1 && i < 2;
    next.roles[static_cast<std::size_t>(id)] = is_split ? static_cast<Mask>(1U << i) : kAllSlices;
    put(next.members, id);
  }
}

bool Explorer::all_are_fenced(const std::vector<PodStanding>& pods, const std::vector<std::size_t>& taking_part) const {
  for (int generation = 1; generation <= from_.sealed; ++generation) {
    OlderGeneration older{.generation = generation, .pods = {}, .lease_has_lapsed = generation != trains_on(from_)};
    for (int id = 0; id < kWorkers; ++id) {
      if (meeting(generation).roles[static_cast<std::size_t>(id)] == 0) continue;
      older.pods.push_back(static_cast<std::size_t>(id));
      older.lease_has_lapsed = older.lease_has_lapsed && !has(from_.leased, id);
    }
    if (!older.pods.empty() && !rules_.is_fenced(older, pods, taking_part)) return false;
  }
  return true;
}

void Explorer::fail() {
  for (int id = 0; id < kWorkers; ++id) {
    if (has(from_.crashed, id)) continue;
    crash(id);
    const int generation = at(id).generation;
    if (!has(from_.suspected, id)) {
      World world = faulty();
      put(world.suspected, id);
      keep(world, {What::kIsCutOff, id, generation});
    }
    if (generation > 0 && meeting(generation).is_cut == 0) {
      World world = faulty();
      world.meetings[at(id).generation].is_cut = 1;
      keep(world, {What::kLosesConnection, id, generation});
    }
    const bool is_saving = at(id).place == Place::kMoving && meeting(generation).roles == Meeting{}.roles;
    if (is_saving) step(faulty(), {What::kCannotSave, id, generation}, event::PeerLost{});
  }
}

World Explorer::faulty() const {
  World world = from_;
  ++world.faults;
  return world;
}

void Explorer::crash(int id) {
  World world = faulty();
  worker_of(world, id) = {};
  put(world.crashed, id);
  remove(world.suspected, id);
  remove(world.leased, id);
  keep(world, {What::kCrashes, id, at(id).generation});
}

}  // namespace sailor::trainer::exploration
