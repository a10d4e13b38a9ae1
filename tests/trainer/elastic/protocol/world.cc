#include "tests/trainer/elastic/protocol/world.h"

#include <algorithm>
#include <vector>

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

// Returns a world of generation 1 whose workers have these units and are at their first step.
World world_that_trains(const std::vector<Mask>& roles) {
  World world;
  world.issued = world.record = world.committed = world.history.newest_confirmed = 1;
  Rendezvous& running = world.rendezvous_of[1];
  for (std::size_t id = 0; id < roles.size(); ++id) {
    put(running.members, static_cast<int>(id));
    put(running.moved, static_cast<int>(id));
    running.roles[id] = roles[id];
    running.computing[id] = 1;
    world.workers[id] = {.place = WorkerPlace::kComputing,
                         .generation = 1,
                         .has_role = 1,
                         .updated_by = 1,
                         .confirmed = 1,
                         .units = roles[id]};
  }
  return world;
}

}  // namespace

World training_world() { return world_that_trains({kAllUnits, kAllUnits}); }

World pipeline_world() { return world_that_trains({1, 2}); }

World lone_world() {
  World world = world_that_trains({kAllUnits});
  put(world.leased, 0);
  return world;
}

bool streams_state(const Rendezvous& next, const Rendezvous& running) {
  bool all_come = true, somebody_lacks_state = false;
  for (std::size_t id = 0; id < kWorkers; ++id) {
    all_come = all_come && (running.roles[id] == 0 || has(next.members, static_cast<int>(id)));
    somebody_lacks_state = somebody_lacks_state || (next.roles[id] & ~running.roles[id]) != 0;
  }
  return all_come && somebody_lacks_state;
}

bool is_alone(const World& world, int generation) {
  const Rendezvous& group = world.rendezvous_of[static_cast<std::size_t>(generation)];
  return std::ranges::count_if(group.roles, [](Mask role) { return role != 0; }) == 1;
}

std::int64_t trains_on(const World& world) { return world.is_voluntary != 0 ? world.committed : 0; }

bool trains(const World& world, const Limits& limits) {
  if (world.committed != world.record) return false;
  const Rendezvous& newest = world.rendezvous_of[world.committed];
  bool all_train = newest.roles != Rendezvous{}.roles;
  for (std::size_t id = 0; id < kWorkers; ++id) {
    const Worker& worker = world.workers[id];
    const bool has_come_to_the_end = worker.place == WorkerPlace::kComputing && worker.step == limits.steps;
    if (has_come_to_the_end && !has(world.unreachable, static_cast<int>(id))) return true;
    if (newest.roles[id] == 0) continue;
    const bool is_answering =
        !has(world.crashed, static_cast<int>(id)) && !has(world.unresponsive, static_cast<int>(id));
    all_train = all_train && is_answering && worker.generation == world.committed && is_training(worker.place);
  }
  return all_train;
}

std::string describe(const World& world) {
  static constexpr std::array kPlaces = {"idle",   "rendezvous",     "transferring", "confirming", "computing",
                                         "voting", "awaiting lease", "finishing",    "broken",     "released",
                                         "done"};
  std::string text = fmt::format("record {}{} committed {} |", world.record,
                                 world.releases_gpus != 0 ? " releases GPUs" : "", world.committed);
  for (int id = 0; id < kWorkers; ++id) {
    const Worker& worker = world.workers[static_cast<std::size_t>(id)];
    if (has(world.crashed, id)) {
      text += fmt::format(" {}: crashed |", id);
      continue;
    }
    text += fmt::format(" {}:{} {} g{}", id,
                        has(world.unresponsive, id)  ? " unresponsive"
                        : has(world.unreachable, id) ? " unreachable"
                                                     : "",
                        kPlaces.at(static_cast<std::size_t>(worker.place)), worker.generation);
    if (worker.updated_by > 0) {
      text += fmt::format(" step {} by g{}{} units {}", worker.step, worker.updated_by,
                          worker.has_gradients != 0 ? " +gradients" : "", worker.units);
    }
    if (worker.is_streaming != 0) text += " receives state";
    if (worker.next > 0)
      text += fmt::format(" next g{}{}", worker.next, worker.next_is_prepared != 0 ? " prepared" : "");
    text += " |";
  }
  for (int third = 0; third < kWorkers; ++third) {
    if (!has(world.broken_paths, third)) continue;
    text += fmt::format(" broken path {}-{} |", third == 0 ? 1 : 0, third == 2 ? 1 : 2);
  }
  return text + fmt::format(" applied by {}", fmt::join(world.history.applied, ","));
}

}  // namespace sailor::trainer::exploration
