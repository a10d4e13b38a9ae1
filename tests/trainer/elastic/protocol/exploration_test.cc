// Every state that three workers and an operator can come to, with messages delayed, lost or repeated in every way, two
// planned changes and two faults; and what must be true in each of them.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {
namespace {

static_assert(std::has_unique_object_representations_v<World>, "worlds are hashed by their bytes");

struct HashOfBytes {
  std::size_t operator()(const World& world) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&world), sizeof world});
  }
};

// All worlds, numbered as they are found, and the events between them that are no faults, backwards.
struct Atlas {
  std::vector<const World*> worlds;
  std::vector<std::uint32_t> found_from;
  std::vector<std::vector<std::uint32_t>> before;
  std::vector<std::string> complaints;
  std::unordered_map<World, std::uint32_t, HashOfBytes> numbers;

  std::uint32_t number_of(const World& world, std::uint32_t from) {
    const auto [at, is_new] = numbers.try_emplace(world, static_cast<std::uint32_t>(worlds.size()));
    if (is_new) {
      worlds.push_back(&at->first);
      found_from.push_back(from);
      before.emplace_back();
    }
    return at->second;
  }

  // How a world came about, from the first.
  [[nodiscard]] std::string story_of(std::uint32_t number) const {
    std::string story = describe(*worlds[number]);
    while (number != 0) {
      number = found_from[number];
      story = describe(*worlds[number]) + "\n" + story;
    }
    return story;
  }
};

Atlas explore(const World& first, const Limits& limits) {
  constexpr std::size_t kEnough = 3;  // complaints
  Atlas atlas;
  atlas.number_of(first, 0);
  std::uint32_t number = 0;
  const auto complain = [&](const std::string& what) {
    atlas.complaints.push_back(what + " after\n" + atlas.story_of(number));
  };
  for (; number < atlas.worlds.size() && atlas.complaints.size() < kEnough; ++number) {
    const World world = *atlas.worlds[number];
    for (const Successor& next : successors(world, limits, complain)) {
      const std::uint32_t reached = atlas.number_of(next.world, number);
      if (!next.is_fault) atlas.before[reached].push_back(number);
    }
  }
  return atlas;
}

// Worlds from which no course of events without further faults leads to training.
std::size_t count_stuck(const Atlas& atlas, const Limits& limits) {
  std::vector<bool> is_good(atlas.worlds.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t number = 0; number < atlas.worlds.size(); ++number) {
    if (trains(*atlas.worlds[number], limits)) open.push_back(number);
  }
  for (const std::uint32_t number : open) is_good[number] = true;
  while (!open.empty()) {
    const std::uint32_t number = open.back();
    open.pop_back();
    for (const std::uint32_t earlier : atlas.before[number]) {
      if (is_good[earlier]) continue;
      is_good[earlier] = true;
      open.push_back(earlier);
    }
  }
  return static_cast<std::size_t>(std::ranges::count(is_good, false));
}

void explore_all(const World& first, const Limits& limits) {
  const Atlas atlas = explore(first, limits);
  std::printf("%zu states of %d changes, %d faults and %d steps\n", atlas.worlds.size(), limits.changes, limits.faults,
              limits.steps);
  for (const std::string& complaint : atlas.complaints) ADD_FAILURE() << complaint;
  EXPECT_EQ(count_stuck(atlas, limits), 0U);
}

TEST(Protocol, EveryStateOfTwoFaultsKeepsTheInvariantsAndReachesTraining) {
  explore_all(training_world(), {.changes = 0, .faults = 2, .steps = 1});
}

TEST(Protocol, EveryStateOfAPlannedChangeAndAFaultKeepsTheInvariantsAndReachesTraining) {
  explore_all(training_world(), {.changes = 1, .faults = 1, .steps = 2});
}

TEST(Protocol, EveryStateOfTwoPlannedChangesKeepsTheInvariantsAndReachesTraining) {
  explore_all(training_world(), {.changes = 2, .faults = 0, .steps = 2});
}

TEST(Protocol, EveryStateOfAStartAndAFaultKeepsTheInvariantsAndReachesTraining) {
  explore_all(first_world(), {.changes = 0, .faults = 1, .steps = 1});
}

// Two changes with two faults or three are more states than can be visited: courses of events drawn at random.
TEST(Protocol, RandomCoursesOfTwoChangesAndThreeFaultsKeepTheInvariants) {
  constexpr unsigned kSeed = 7;
  constexpr int kCourses = 20000;
  constexpr int kLongest = 150;  // events
  const Limits limits{.changes = 2, .faults = 3, .steps = 2};
  std::mt19937 random(kSeed);
  std::unordered_set<World, HashOfBytes> seen;
  for (int course = 0; course < kCourses; ++course) {
    World world = training_world();
    std::string complaint;
    for (int event = 0; event < kLongest && complaint.empty(); ++event) {
      const auto next = successors(world, limits, [&](const std::string& what) { complaint = what; });
      if (next.empty()) break;
      world = next[std::uniform_int_distribution<std::size_t>(0, next.size() - 1)(random)].world;
      seen.insert(world);
    }
    ASSERT_EQ(complaint, "") << "course " << course << " at " << describe(world);
  }
  std::printf("%zu states seen on %d courses of up to %d events\n", seen.size(), kCourses, kLongest);
}

}  // namespace
}  // namespace sailor::trainer::exploration
