#include "trainer/elastic/holding.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A generation of one stage of two replicas (ranks 0 and 1, pieces 0, 1, 2) before one of one (rank 2: 0, 3, 4, 5), and
// two workers that leave (ranks 3 and 4). Zones: rank 0 and 3 share one, the others are alone in regions of their own.
Assignment a_generation() {
  Assignment job = testing::tiny_job("unused");
  std::vector<AgentAddress> agents(5);
  Assignment assignment = testing::generation(job, 2, testing::plan_of(job, {{0, 2, {4, 4}}, {2, 5, {8}}}), [&] {
    for (std::size_t i = 0; i < agents.size(); ++i) agents[i] = {"pod-" + std::to_string(i), "", 1, 1, {}, 1};
    return agents;
  }());
  const char* zones[] = {"us-a1-a", "us-b1-a", "us-c1-a", "us-a1-a", "us-d1-a"};
  for (std::size_t i = 0; i < 5; ++i) assignment.agents[i].pool.zone = Zone(zones[i]);
  return assignment;
}

Holding of_step(std::int64_t step, std::vector<int> pieces) {
  return {.pieces = std::move(pieces), .step = step, .reached = step};
}

Holding with_gradients(std::int64_t step, std::vector<int> pieces) {
  Holding holding = of_step(step, std::move(pieces));
  holding.has_gradients = true;
  holding.reached = step + 1;
  return holding;
}

const std::vector<int> kAll = {0, 1, 2, 3, 4, 5};

TEST(ResumePoint, NobodyHoldsAnythingMeansNoPoint) {
  EXPECT_EQ(resume_point(Roster(a_generation()), std::vector<Holding>(5)), std::nullopt);
}

TEST(ResumePoint, IsTheNewestStepOfWhichEveryPieceIsHeld) {
  const Roster roster(a_generation());
  EXPECT_EQ(resume_point(roster, {{}, {}, {}, of_step(7, {0, 1, 2}), of_step(7, {0, 3, 4, 5})})->step, 7);
  EXPECT_EQ(resume_point(roster, {of_step(4, kAll), {}, {}, of_step(7, {0, 1, 2}), of_step(7, {0, 3, 4})})->step, 4);
  EXPECT_EQ(resume_point(roster, {{}, {}, {}, of_step(7, {0, 1, 2}), of_step(7, {0, 3, 4})}), std::nullopt);
}

TEST(ResumePoint, GradientsRollForwardOnlyIfSomebodyHasAppliedTheStep) {
  const Roster roster(a_generation());
  Holding applied = of_step(8, {0, 1, 2});
  applied.squared_norm = 2.5;
  const auto point = resume_point(roster, {applied, {}, with_gradients(7, {0, 3, 4, 5}), {}, {}});
  EXPECT_EQ(point, (ResumePoint{8, 2.5}));
  const auto redone = resume_point(roster, {with_gradients(7, {0, 1, 2}), {}, with_gradients(7, {0, 3, 4, 5}), {}, {}});
  EXPECT_EQ(redone->step, 7);
}

TEST(StepsLost, CountsTheStepInFlightAndThoseSinceTheCheckpoint) {
  EXPECT_EQ(steps_lost({with_gradients(7, kAll), of_step(7, kAll)}, 7), 1);
  EXPECT_EQ(steps_lost({with_gradients(7, kAll), of_step(8, kAll)}, 8), 0);
  EXPECT_EQ(steps_lost({with_gradients(12, {0})}, 10), 3);
  EXPECT_EQ(steps_lost({Holding{}}, 10), 0);
}

TEST(Moves, EveryLackingPieceComesOnceFromTheNearestHolder) {
  const Assignment assignment = a_generation();
  const Roster roster(assignment);
  const std::vector<Holding> holdings = {
      {}, of_step(5, {0, 1}), of_step(5, {3, 4, 5}), of_step(5, kAll), of_step(5, kAll)};
  const auto list = moves(assignment, roster, holdings, {5, 0});
  // Rank 0 takes all from its zone's rank 3. What is equally far is taken from whoever sends least: rank 4.
  EXPECT_THAT(list, ElementsAre(Move{0, 3, 0}, Move{1, 3, 0}, Move{2, 3, 0}, Move{2, 4, 1}, Move{0, 1, 2}));
}

TEST(Moves, NothingMovesWhereEverybodyHasWhatItNeeds) {
  const Assignment assignment = a_generation();
  const Roster roster(assignment);
  EXPECT_THAT(
      moves(assignment, roster, {of_step(5, kAll), of_step(5, {0, 1, 2}), of_step(5, {0, 3, 4, 5}), {}, {}}, {5, 0}),
      IsEmpty());
}

TEST(Holding, SurvivesItsJourney) {
  Holding holding = with_gradients(7, kAll);
  holding.squared_norm = 0.1;
  holding.first_loss = 5.5;
  EXPECT_EQ(*holding_from_line(to_line(holding)), holding);
  EXPECT_FALSE(holding_from_line("{}"));
  EXPECT_FALSE(holding_from_line("nonsense"));
}

TEST(Roster, KeepersTakeTurnsAndHoldWhatTheyKeep) {
  const Roster roster(a_generation());
  std::set<int> keepers;
  for (const int piece : roster.pieces()) {
    const int keeper = roster.keeper_of(piece);
    EXPECT_THAT(roster.pieces_of(keeper), ::testing::Contains(piece));
    keepers.insert(keeper);
  }
  EXPECT_THAT(keepers, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace sailor::trainer
