// What the exploration forgets, nobody would have missed: what follows from a world is the same without it.
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
class Comparison {
 public:
  explicit Comparison(const Limits& limits)
      : limits_(limits), untidy_(limits, rules_, Reduction::kNone), explorer_(limits, rules_, Reduction::kTidy) {}

  void run(const World& first) {
    come_to(first);
    while (!open_.empty() && !testing::Test::HasFailure()) {
      const auto nearest = open_.extract(open_.begin());
      nearest.mapped().for_each([&](const PackedWorld& packed) { visit(unpack(packed)); });
    }
  }

 private:
  void visit(const World& whole) {
    if (testing::Test::HasFailure()) return;
    const World less = tidied(whole);
    const Future& future = untidy_.future_of(whole);
    const Future& future_of_less = explorer_.future_of(less);
    EXPECT_EQ(following(less, future), following(less, future_of_less)) << describe(whole);
    EXPECT_EQ(future.complaints, future_of_less.complaints) << describe(whole);
    EXPECT_EQ(trains(whole, limits_), trains(less, limits_)) << describe(whole);
    for (const Successor& successor : future.successors) come_to(successor.world);
  }

  void come_to(const World& world) { open_[progress(world, rules_)].add(pack(world)); }

  const Rules rules_;
  const Limits limits_;
  Explorer untidy_, explorer_;
  std::map<int, Level> open_;
};

void compare_all(const World& first, const Limits& limits) { Comparison(limits).run(first); }

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

TEST(Tidy, ChangesNothingThatFollowsACutPath) {
  compare_all(training_world(), {.faults = 1, .steps = 1, .paths_break = true});
}

}  // namespace
}  // namespace sailor::trainer::exploration
