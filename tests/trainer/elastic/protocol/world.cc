#include "tests/trainer/elastic/protocol/world.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "operator/protocol/fencing.h"

namespace sailor::trainer::exploration {

World first_world() {
  World world;
  world.issued = world.record = 1;
  return world;
}

namespace {

// At their first step, of generation 1: replicas of each other.
World world_of_replicas(int count) {
  World world;
  world.issued = world.record = world.sealed = world.history.newest_confirmed = 1;
  Meeting& running = world.meetings[1];
  for (int id = 0; id < count; ++id) {
    const auto index = static_cast<std::size_t>(id);
    put(running.members, id);
    put(running.moved, id);
    running.roles[index] = kAllSlices;
    running.computing[index] = 1;
    world.workers[index] = {.place = Place::kComputing,
                            .generation = 1,
                            .has_role = 1,
                            .updated_by = 1,
                            .confirmed = 1,
                            .slices = kAllSlices};
  }
  return world;
}

}  // namespace

World training_world() { return world_of_replicas(2); }

World lone_world() {
  World world = world_of_replicas(1);
  put(world.leased, 0);
  return world;
}

bool is_alone(const World& world, int generation) {
  const Meeting& group = world.meetings[static_cast<std::size_t>(generation)];
  return std::ranges::count_if(group.roles, [](Mask role) { return role != 0; }) == 1;
}

std::int64_t trains_on(const World& world) { return world.is_voluntary != 0 ? world.sealed : 0; }

bool trains(const World& world, const Limits& limits) {
  if (world.sealed != world.record) return false;
  const Meeting& newest = world.meetings[world.sealed];
  bool all_train = newest.roles != Meeting{}.roles;
  for (std::size_t id = 0; id < kWorkers; ++id) {
    const Worker& worker = world.workers[id];
    if (worker.place == Place::kComputing && worker.step == limits.steps) return true;
    if (newest.roles[id] == 0) continue;
    const bool is_answering = !has(world.crashed, static_cast<int>(id)) && !has(world.suspected, static_cast<int>(id));
    all_train = all_train && is_answering && worker.generation == world.sealed && is_training(worker.place);
  }
  return all_train;
}

std::string describe(const World& world) {
  static constexpr std::array kPlaces = {"idle",   "meeting",   "moving", "confirming", "computing", "voting",
                                         "paused", "finishing", "broken", "released",   "done"};
  std::string text =
      fmt::format("record {}{} sealed {} |", world.record, world.parks != 0 ? " parks" : "", world.sealed);
  for (int id = 0; id < kWorkers; ++id) {
    const Worker& worker = world.workers[static_cast<std::size_t>(id)];
    if (has(world.crashed, id)) {
      text += fmt::format(" {}: crashed |", id);
      continue;
    }
    text += fmt::format(" {}:{} {} g{}", id, has(world.suspected, id) ? " suspected" : "",
                        kPlaces.at(static_cast<std::size_t>(worker.place)), worker.generation);
    if (worker.updated_by > 0) {
      text += fmt::format(" step {} by g{}{} slices {}", worker.step, worker.updated_by,
                          worker.has_gradients != 0 ? " +gradients" : "", worker.slices);
    }
    if (worker.next > 0)
      text += fmt::format(" next g{}{}", worker.next, worker.next_is_prepared != 0 ? " prepared" : "");
    text += " |";
  }
  return text + fmt::format(" applied by {}", fmt::join(world.history.applied, ","));
}

}  // namespace sailor::trainer::exploration
