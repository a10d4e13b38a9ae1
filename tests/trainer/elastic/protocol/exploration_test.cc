// Every state that three workers and an operator can come to, with messages delayed, lost or repeated in every way, two
// planned changes and two faults; and what must be true in each of them.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <random>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {
namespace {

static_assert(std::has_unique_object_representations_v<World>, "worlds are told apart by their bytes");

// 128 bits that stand for a world: of 10^8 worlds two have the same with a chance of less than 10^-22.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

Digest digest_of(const World& world) {
  const auto mixed = [](std::uint64_t value, std::uint64_t multiplier) {
    value = (value ^ value >> 32U) * multiplier;
    return value ^ value >> 29U;
  };
  Digest digest{.low = 1, .high = 2};
  const auto* bytes = reinterpret_cast<const char*>(&world);
  for (std::size_t at = 0; at < sizeof world; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, sizeof world - at));
    digest.low = mixed(digest.low ^ word, 0x9e3779b97f4a7c15U);
    digest.high = mixed(digest.high + word, 0xbf58476d1ce4e5b9U);
  }
  return digest;
}

struct HashOfDigest {
  std::size_t operator()(const Digest& digest) const { return digest.low; }
};

// All worlds that there are, numbered as they are found, and the events between them. Of a world only its digest is
// kept, and the world that it was found from: how it came about is told by going the same way once more.
struct Atlas {
  std::unordered_map<Digest, std::uint32_t, HashOfDigest> numbers;
  std::vector<std::uint32_t> found_from;
  std::vector<bool> is_good;                                       // trains
  std::vector<std::pair<std::uint32_t, std::uint32_t>> backwards;  // to, from: of events that are no faults
  std::vector<std::string> complaints;

  // Its number, and whether it is new.
  std::pair<std::uint32_t, bool> number_of(const World& world, std::uint32_t from) {
    const auto [at, is_new] = numbers.try_emplace(digest_of(world), static_cast<std::uint32_t>(numbers.size()));
    if (is_new) found_from.push_back(from);
    return {at->second, is_new};
  }
};

std::string story_of(const Atlas& atlas, const World& first, const Limits& limits, std::uint32_t number) {
  std::vector<std::uint32_t> way;
  for (; number != 0; number = atlas.found_from[number]) way.push_back(number);
  World world = first;
  std::string story = describe(world);
  for (auto next = way.rbegin(); next != way.rend(); ++next) {
    const auto steps = successors(world, limits, [](const std::string&) {});
    world = std::ranges::find_if(steps, [&](const Successor& step) {
              return atlas.numbers.at(digest_of(step.world)) == *next;
            })->world;
    story += "\n" + describe(world);
  }
  return story;
}

Atlas explore(const World& first, const Limits& limits) {
  constexpr std::size_t kEnough = 3;  // complaints
  Atlas atlas;
  std::deque<World> open = {first};
  atlas.number_of(first, 0);
  std::vector<std::pair<std::string, std::uint32_t>> found;
  for (std::uint32_t number = 0; !open.empty() && found.size() < kEnough; ++number) {
    const World world = open.front();
    open.pop_front();
    atlas.is_good.push_back(trains(world, limits));
    const auto complain = [&](const std::string& what) { found.emplace_back(what, number); };
    for (const Successor& next : successors(world, limits, complain)) {
      const auto [reached, is_new] = atlas.number_of(next.world, number);
      if (is_new) open.push_back(next.world);
      if (!next.is_fault) atlas.backwards.emplace_back(reached, number);
    }
  }
  for (const auto& [what, number] : found) {
    atlas.complaints.push_back(what + " after\n" + story_of(atlas, first, limits, number));
  }
  return atlas;
}

// Worlds from which no course of events without further faults leads to training.
std::size_t count_stuck(Atlas& atlas) {
  std::ranges::sort(atlas.backwards);
  std::vector<bool>& is_good = atlas.is_good;
  std::vector<std::uint32_t> open;
  for (std::uint32_t number = 0; number < is_good.size(); ++number) {
    if (is_good[number]) open.push_back(number);
  }
  while (!open.empty()) {
    const auto events =
        std::ranges::equal_range(atlas.backwards, open.back(), {}, [](const auto& event) { return event.first; });
    open.pop_back();
    for (const auto& [reached, earlier] : events) {
      if (is_good[earlier]) continue;
      is_good[earlier] = true;
      open.push_back(earlier);
    }
  }
  return static_cast<std::size_t>(std::ranges::count(is_good, false));
}

void explore_all(const World& first, const Limits& limits) {
  Atlas atlas = explore(first, limits);
  std::printf("%zu states of %d changes, %d faults and %d steps\n", atlas.numbers.size(), limits.changes, limits.faults,
              limits.steps);
  for (const std::string& complaint : atlas.complaints) ADD_FAILURE() << complaint;
  EXPECT_EQ(count_stuck(atlas), 0U);
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

TEST(Protocol, EveryStateOfAPlannedChangeAndTwoFaultsKeepsTheInvariantsAndReachesTraining) {
  explore_all(training_world(), {.changes = 1, .faults = 2, .steps = 1});
}

TEST(Protocol, EveryStateOfTwoPlannedChangesAndAFaultKeepsTheInvariantsAndReachesTraining) {
  explore_all(training_world(), {.changes = 2, .faults = 1, .steps = 1});
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
  std::unordered_set<Digest, HashOfDigest> seen;
  for (int course = 0; course < kCourses; ++course) {
    World world = training_world();
    std::string complaint;
    for (int event = 0; event < kLongest && complaint.empty(); ++event) {
      const auto next = successors(world, limits, [&](const std::string& what) { complaint = what; });
      if (next.empty()) break;
      world = next[std::uniform_int_distribution<std::size_t>(0, next.size() - 1)(random)].world;
      seen.insert(digest_of(world));
    }
    ASSERT_EQ(complaint, "") << "course " << course << " at " << describe(world);
  }
  std::printf("%zu states seen on %d courses of up to %d events\n", seen.size(), kCourses, kLongest);
}

}  // namespace
}  // namespace sailor::trainer::exploration
