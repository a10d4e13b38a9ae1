// What the exploration forgets, nobody would have missed: what follows from a world is the same without it.
#include "tests/trainer/elastic/protocol/tidy.h"

#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tests/trainer/elastic/protocol/explorer.h"
#include "tests/trainer/elastic/protocol/level.h"
#include "tests/trainer/elastic/protocol/progress.h"

namespace sailor::trainer::exploration {
namespace {

World tidied(World world) {
  tidy(world);
  return world;
}

// The worlds that can follow, as they are told apart; a fault that changes nothing is none.
std::set<PackedWorld> following(const World& from, const Future& future) {
  std::set<PackedWorld> found;
  for (const Successor& successor : future.successors) {
    World world = tidied(successor.world);
    const int faults = std::exchange(world.faults, from.faults);
    if (world == from) continue;
    world.faults = static_cast<std::uint8_t>(faults);
    found.insert(pack(world));
  }
  return found;
}

// Visits every world with nothing forgotten, and compares what follows from each with what follows once it is tidied.
void compare_all(const World& first, const Limits& limits) {
  const Rules rules;
  Explorer untidy(limits, rules, Reduction::kNone), explorer(limits, rules, Reduction::kTidy);
  std::map<int, Level> open;
  const auto come_to = [&](const World& world) { open[progress(world, rules)].add(pack(world), [] { return 0U; }); };
  come_to(first);
  while (!open.empty()) {
    const auto nearest = open.extract(open.begin());
    for (const Level::Entry& entry : nearest.mapped().entries()) {
      const World whole = unpack(entry.world), less = tidied(whole);
      const Future& future = untidy.future_of(whole);
      const Future& future_of_less = explorer.future_of(less);
      ASSERT_EQ(following(less, future), following(less, future_of_less)) << describe(whole);
      ASSERT_EQ(future.complaints, future_of_less.complaints) << describe(whole);
      ASSERT_EQ(trains(whole, limits), trains(less, limits)) << describe(whole);
      for (const Successor& successor : future.successors) come_to(successor.world);
    }
  }
}

TEST(Tidy, ChangesNothingThatFollowsAPlannedChangeAndAFault) {
  compare_all(training_world(), {.changes = 1, .faults = 1, .steps = 1});
}

TEST(Tidy, ChangesNothingThatFollowsAParkingAndAFault) {
  compare_all(training_world(), {.faults = 1, .steps = 1, .parkings = 1});
}

TEST(Tidy, ChangesNothingThatFollowsALoneWorkersTwoFaults) { compare_all(lone_world(), {.faults = 2, .steps = 1}); }

TEST(Tidy, ChangesNothingThatFollowsALoneWorkersChangeAndAFault) {
  compare_all(lone_world(), {.changes = 1, .faults = 1, .steps = 1});
}

}  // namespace
}  // namespace sailor::trainer::exploration
