#include "tests/trainer/elastic/protocol/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/trainer/elastic/protocol/agreement.h"

namespace sailor::trainer::exploration {

World first_world() {
  World world;
  world.record = 1;
  return world;
}

World training_world() {
  World world;
  world.record = world.sealed = world.history.newest_confirmed = 1;
  Meeting& running = world.meetings[1];
  running.members = 3;
  running.moved = 3;
  for (std::size_t id = 0; id < 2; ++id) {
    running.roles[id] = kAllSlices;
    running.computing[id] = 1;
    world.workers[id] = {.place = Place::kComputing,
                         .generation = 1,
                         .has_role = 1,
                         .updated_by = 1,
                         .confirmed = 1,
                         .slices = kAllSlices};
  }
  return world;
}

std::string describe(const World& world) {
  static constexpr std::array kPlaces = {"idle",   "meeting",   "moving", "confirming", "computing", "voting",
                                         "paused", "finishing", "broken", "released",   "done"};
  std::string text = fmt::format("record {} sealed {} change {} |", world.record, world.sealed, world.change);
  for (int id = 0; id < kWorkers; ++id) {
    const Worker& worker = world.workers[static_cast<std::size_t>(id)];
    text += fmt::format(" {}:{}{} g{} step {}/{}{} slices {} next {}{} |", id,
                        has(world.crashed, id) ? "crashed " : (has(world.suspected, id) ? "suspected " : ""),
                        kPlaces.at(static_cast<std::size_t>(worker.place)), worker.generation, worker.step,
                        worker.updated_by, worker.has_gradients != 0 ? "+gradients" : "", worker.slices, worker.next,
                        worker.next_is_prepared != 0 ? "!" : "");
  }
  return text + fmt::format(" applied {}", fmt::join(world.history.applied, ","));
}

bool trains(const World& world, const Limits& limits) {
  if (world.sealed != world.record) return false;
  const Meeting& newest = world.meetings[world.sealed];
  bool all_train = true;
  for (std::size_t id = 0; id < kWorkers; ++id) {
    const Worker& worker = world.workers[id];
    if (worker.place == Place::kComputing && worker.step == limits.steps) return true;
    if (newest.roles[id] == 0) continue;
    const bool is_answering = !has(world.crashed, static_cast<int>(id)) && !has(world.suspected, static_cast<int>(id));
    all_train = all_train && is_answering && worker.generation == world.sealed && is_training(worker.place);
  }
  return all_train;
}

}  // namespace sailor::trainer::exploration
