// The reduction changes nothing: a state has the same successors before and after it.
#include "tests/trainer/elastic/protocol/reduction.h"

#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tests/trainer/elastic/protocol/explorer.h"
#include "tests/trainer/elastic/protocol/level.h"
#include "tests/trainer/elastic/protocol/progress.h"

namespace sailor::trainer::exploration {
namespace {

World reduced(World world) {
  reduce(world);
  return world;
}

// Returns the distinct successors of a state. Faults without an effect do not count.
std::set<PackedWorld> following(const World& from, const Future& future) {
  std::set<PackedWorld> found;
  for (const Successor& successor : future.successors) {
    World world = reduced(successor.world);
    const int faults = std::exchange(world.faults, from.faults);
    if (world == from) continue;
    world.faults = static_cast<std::uint8_t>(faults);
    found.insert(pack(world));
  }
  return found;
}

// Visits every state without reduction, and compares the successors of each with those of the reduced state.
class Comparison {
 public:
  explicit Comparison(const Limits& limits)
      : limits_(limits),
        unreduced_(limits, rules_, Reduction::kNone),
        explorer_(limits, rules_, Reduction::kForgetIrrelevant) {}

  void run(const World& first) {
    reach(first);
    while (!open_.empty() && !testing::Test::HasFailure()) {
      const auto nearest = open_.extract(open_.begin());
      nearest.mapped().for_each([&](const PackedWorld& packed) { visit(unpack(packed)); });
    }
  }

 private:
  void visit(const World& whole) {
    if (testing::Test::HasFailure()) return;
    const World less = reduced(whole);
    const Future& future = unreduced_.future_of(whole);
    const Future& future_of_less = explorer_.future_of(less);
    EXPECT_EQ(following(less, future), following(less, future_of_less)) << describe(whole);
    EXPECT_EQ(future.violations, future_of_less.violations) << describe(whole);
    EXPECT_EQ(trains(whole, limits_), trains(less, limits_)) << describe(whole);
    for (const Successor& successor : future.successors) reach(successor.world);
  }

  void reach(const World& world) { open_[progress(world, rules_)].add(pack(world)); }

  const Rules rules_;
  const Limits limits_;
  Explorer unreduced_, explorer_;
  std::map<int, Level> open_;
};

void compare_all(const World& first, const Limits& limits) { Comparison(limits).run(first); }

TEST(Reduction, ChangesNothingThatFollowsAPlannedChange) {
  compare_all(training_world(), {.changes = 1, .faults = 0, .steps = 1});
}

TEST(Reduction, ChangesNothingThatFollowsACheckpointAndReleaseAndAFault) {
  compare_all(training_world(), {.faults = 1, .steps = 1, .releases = 1});
}

TEST(Reduction, ChangesNothingThatFollowsALoneWorkersTwoFaults) {
  compare_all(lone_world(), {.faults = 2, .steps = 1});
}

TEST(Reduction, ChangesNothingThatFollowsALoneWorkersChange) {
  compare_all(lone_world(), {.changes = 1, .faults = 0, .steps = 1});
}

TEST(Reduction, ChangesNothingThatFollowsABrokenPath) {
  compare_all(training_world(), {.faults = 1, .steps = 1, .paths_break = true});
}

// These take minutes. They have the label long.

TEST(WholeReduction, ChangesNothingThatFollowsAPlannedChangeAndAFault) {
  compare_all(training_world(), {.changes = 1, .faults = 1, .steps = 1});
}

TEST(WholeReduction, ChangesNothingThatFollowsALoneWorkersChangeAndAFault) {
  compare_all(lone_world(), {.changes = 1, .faults = 1, .steps = 1});
}

}  // namespace
}  // namespace sailor::trainer::exploration
