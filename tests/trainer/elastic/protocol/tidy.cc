#include "tests/trainer/elastic/protocol/tidy.h"

namespace sailor::trainer::exploration {
namespace {

void tidy_meeting(World& world, int generation) {
  Meeting& group = world.meetings[static_cast<std::size_t>(generation)];
  bool is_over = generation < world.record && generation != world.sealed;
  bool is_met = true;
  for (int id = 0; id < kWorkers; ++id) {
    if (has(world.crashed, id) || !has(group.members, id)) continue;
    const Worker& worker = world.workers[static_cast<std::size_t>(id)];
    is_over = is_over && worker.generation > generation;
    const bool regroups = worker.place == Place::kMeeting || worker.place == Place::kMoving;
    is_met = is_met && (worker.generation > generation || (worker.generation == generation && !regroups));
  }
  if (is_over) group = {};
  if (is_met) {
    group.holdings = {};
    group.published = group.met = group.saved = group.picked = 0;
  }
}

}  // namespace

void tidy(World& world) {
  for (int generation = 1; generation <= world.issued; ++generation) tidy_meeting(world, generation);
}

}  // namespace sailor::trainer::exploration
