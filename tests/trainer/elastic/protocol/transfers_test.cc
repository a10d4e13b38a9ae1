// Transfers on random pairs of plans: laws, and bytes compared with the least possible.
#include "trainer/elastic/protocol/transfers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kUnits = 24;
constexpr int kWorlds = 500;

class RandomWorld {
 public:
  explicit RandomWorld(unsigned seed) : random_(seed) {}

  TransferQuestion question() {
    const int workers = number(1, 12);
    TransferQuestion question;
    for (int unit = 0; unit < kUnits; ++unit) question.bytes.push_back(number(1, 1000) * 1000);
    for (int rank = 0; rank < workers; ++rank) {
      static const char* zones[] = {"us-a1-a", "us-a1-b", "us-b1-a"};
      question.locations.push_back({rank / 2, Zone(zones[rank / 2 % 3])});
    }
    question.offered = stages(workers, number(0, workers));
    question.wanted = stages(workers, number(1, workers));
    return question;
  }

 private:
  int number(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }

  // Pipelines of random cuts over the first `used` of the workers in random order; the others hold nothing.
  std::vector<std::vector<int>> stages(int workers, int used) {
    std::vector<int> order(static_cast<std::size_t>(workers));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    std::vector<std::vector<int>> units(order.size());
    for (int done = 0; done < used;) {
      const int depth = number(1, used - done);
      for (int stage = 0; stage < depth; ++stage, ++done) {
        auto& mine = units[static_cast<std::size_t>(order[static_cast<std::size_t>(done)])];
        for (int unit = kUnits * stage / depth; unit < kUnits * (stage + 1) / depth; ++unit) mine.push_back(unit);
      }
    }
    return units;
  }

  std::mt19937 random_;
};

bool contains(const std::vector<int>& sorted, int value) { return std::ranges::binary_search(sorted, value); }

TEST(Transfers, EveryWorkerReceivesEachMissingUnitOnce) {
  for (unsigned seed = 1; seed <= kWorlds; ++seed) {
    const TransferQuestion question = RandomWorld(seed).question();
    const TransferPlan plan = plan_transfers(question);
    std::map<std::pair<int, int>, int> messages;  // by rank and unit
    for (const UnitMove& move : plan.moves) {
      ++messages[{move.to, move.unit}];
      EXPECT_TRUE(contains(question.offered[static_cast<std::size_t>(move.from)], move.unit)) << "seed " << seed;
      EXPECT_NE(move.from, move.to) << "seed " << seed;
    }
    for (std::size_t rank = 0; rank < question.wanted.size(); ++rank) {
      for (const int unit : question.wanted[rank]) {
        const int copies = (contains(question.offered[rank], unit) ? 1 : 0) + messages[{static_cast<int>(rank), unit}] +
                           (contains(plan.unheld[rank], unit) ? 1 : 0);
        EXPECT_EQ(copies, 1) << "seed " << seed << " rank " << rank << " unit " << unit;
      }
    }
  }
}

TEST(Transfers, MoveOnlyTheBytesThatWorkersLackAndEachFromTheNearestHolder) {
  for (unsigned seed = 1; seed <= kWorlds; ++seed) {
    const TransferQuestion question = RandomWorld(seed).question();
    std::int64_t least = 0;
    std::set<int> held;
    for (const auto& units : question.offered) held.insert(units.begin(), units.end());
    for (std::size_t rank = 0; rank < question.wanted.size(); ++rank) {
      for (const int unit : question.wanted[rank]) {
        const bool arrives = held.contains(unit) && !contains(question.offered[rank], unit);
        if (arrives) least += question.bytes[static_cast<std::size_t>(unit)];
      }
    }
    std::int64_t moved = 0;
    for (const UnitMove& move : plan_transfers(question).moves) {
      moved += question.bytes[static_cast<std::size_t>(move.unit)];
      const WorkerLocation& to = question.locations[static_cast<std::size_t>(move.to)];
      for (std::size_t rank = 0; rank < question.offered.size(); ++rank) {
        if (!contains(question.offered[rank], move.unit)) continue;
        EXPECT_LE(distance(question.locations[static_cast<std::size_t>(move.from)], to),
                  distance(question.locations[rank], to));
      }
    }
    EXPECT_EQ(moved, least) << "seed " << seed;
  }
}

TEST(Transfers, OnlyUnitsWithoutAHolderComeFromTheCheckpoint) {
  const TransferPlan plan = plan_transfers(
      {.wanted = {{0, 1, 2}, {}}, .offered = {{}, {1}}, .locations = {{0, {}}, {1, {}}}, .bytes = {1, 1, 1}});
  EXPECT_THAT(plan.moves, ElementsAre(UnitMove{1, 1, 0}));
  EXPECT_THAT(plan.unheld, ElementsAre(ElementsAre(0, 2), IsEmpty()));
}

// Four equal holders of eight units of unequal size, and four joining workers: no worker sends a third more than its
// share.
TEST(Transfers, SpreadTheLoadOverEquallyNearHolders) {
  TransferQuestion question{.wanted = {}, .offered = {}, .locations = {}, .bytes = {9, 8, 7, 6, 5, 4, 3, 2}};
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int rank = 0; rank < 8; ++rank) {
    question.wanted.push_back(rank < 4 ? std::vector<int>{} : all);
    question.offered.push_back(rank < 4 ? all : std::vector<int>{});
    question.locations.push_back({rank, Zone("us-a1-a")});
  }
  std::vector<std::int64_t> sent(4);
  for (const UnitMove& move : plan_transfers(question).moves) {
    sent[static_cast<std::size_t>(move.from)] += question.bytes[static_cast<std::size_t>(move.unit)];
  }
  const std::int64_t total = std::reduce(sent.begin(), sent.end());
  EXPECT_LE(std::ranges::max(sent) * 4, total * 11 / 10);
}

}  // namespace
}  // namespace sailor::trainer
