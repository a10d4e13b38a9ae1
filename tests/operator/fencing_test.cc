// Two generations never train at the same time: what the operator waits for before it notifies anybody of the next one.
#include "operator/protocol/fencing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/lease.h"
#include "operator/reconcile/decide/pod_states.h"
#include "operator/reconcile/observe/lease_watch.h"
#include "tests/operator/world.h"

namespace sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr PodState kSurvivor{
    .has_slot = true, .contact = AgentContact::kAnswers, .is_ready = true, .holds_state = true};
constexpr PodState kCutOff{.holds_state = true, .notified = 1, .reported = 1};
constexpr PodState kDead{.is_dead = true, .notified = 1, .reported = 1};

TEST(Fencing, PodThatWasNotifiedAndHasNotReportedTakesPart) {
  const PodState notified{.contact = AgentContact::kAnswers, .notified = 2};
  const PodState idle{.contact = AgentContact::kAnswers};
  EXPECT_THAT(participants({kSurvivor, idle, notified}), Optional(ElementsAre(0, 2)));
}

TEST(Fencing, NobodyIsNotifiedBeforeAllPodsThatMayHoldStateWereHeard) {
  const PodState unheard{.contact = AgentContact::kNotHeardYet};
  EXPECT_EQ(participants({kSurvivor, unheard}), std::nullopt);
  EXPECT_THAT(participants({kSurvivor, kCutOff}), Optional(ElementsAre(0)));
}

TEST(Fencing, StalePodDoesNotTakePartAndIsStillWaitedFor) {
  const PodState stale{
      .contact = AgentContact::kAnswers, .is_stale = true, .holds_state = true, .notified = 1, .reported = 1};
  EXPECT_THAT(participants({kSurvivor, stale}), Optional(ElementsAre(0)));
  EXPECT_FALSE(is_fenced({.generation = 1, .pods = {1}, .lease_has_lapsed = false}, {kSurvivor, stale}, {0}));
}

TEST(Fencing, PodIsStaleOnceTheJobRestartsWithoutIt) {
  Observation observation;
  observation.pods = {{.name = "old", .is_ours = true, .created_for_generation = 1},
                      {.name = "new", .is_ours = true, .created_for_generation = 3}};
  const PodStates pod_states = pod_states_of(observation, {.min_pod_generation = 3});
  ASSERT_EQ(pod_states.states.size(), 2U);
  EXPECT_TRUE(pod_states.states[0].is_stale);
  EXPECT_FALSE(pod_states.states[1].is_stale);
}

TEST(Fencing, OnePodThatTakesPartOrHasLeftIsEnough) {
  const OlderGeneration older{.generation = 1, .pods = {0, 1}, .lease_has_lapsed = false};
  EXPECT_TRUE(is_fenced(older, {kSurvivor, kCutOff}, {0}));
  EXPECT_FALSE(is_fenced(older, {kCutOff, kCutOff, kSurvivor}, {2}));
  PodState left = kCutOff;
  left.reported = 2;
  EXPECT_TRUE(is_fenced(older, {kCutOff, left, kSurvivor}, {2}));
}

TEST(Fencing, AllPodsMustBeDeadIfNoneHasLeft) {
  const OlderGeneration older{.generation = 1, .pods = {0, 1}, .lease_has_lapsed = true};
  EXPECT_FALSE(is_fenced(older, {kDead, kCutOff}, {})) << "two pods have no lease";
  EXPECT_TRUE(is_fenced(older, {kDead, kDead}, {}));
}

TEST(Fencing, LeasesOfTheNewestAndOfTheTrainingGenerationAreRenewed) {
  EXPECT_TRUE(renews_lease(4, 4, 0, false));
  EXPECT_FALSE(renews_lease(3, 4, 0, false));
  EXPECT_TRUE(renews_lease(3, 4, 3, false));
  EXPECT_TRUE(renews_lease(3, 4, 0, true));
}

}  // namespace

namespace testing {
namespace {

using ::testing::StartsWith;

// A job on one node is cut off, and there is another node.
class FencedJob : public ::testing::Test {
 protected:
  void SetUp() override {
    world.add_node("a", 2);
    world.add_job({{"checkpoint", {{"path", "/checkpoints"}}}});
    world.settle();
    world.add_node("b", 1);
  }
  World world;
};

TEST_F(FencedJob, OnePodThatVotesAloneHasALease) {
  EXPECT_EQ(world.sent.back().lease_seconds, kLeaseLength.count());
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_EQ(world.sent.back().lease_seconds, 0) << "each needs the other's vote";
}

TEST_F(FencedJob, LeaseIsRenewedWhileThePodSendsItsStateToTheNextGeneration) {
  world.agents_hang = true;
  world.pass(std::chrono::seconds(11));
  world.settle();
  const auto joining = world.record();
  ASSERT_EQ(joining.generation, 2);
  ASSERT_TRUE(joining.is_committed());
  EXPECT_TRUE(is_renewed(joining, 1));
  GenerationRecord counted = joining;
  counted.older.front().is_unrenewed = true;
  EXPECT_FALSE(is_renewed(counted, 1)) << "somebody waits for the lapse already";
  world.cut_off("a");
  world.settle();
  const auto without = world.record();
  ASSERT_EQ(without.generation, 3);
  EXPECT_FALSE(is_renewed(without, 1));
}

TEST_F(FencedJob, NextGenerationWaitsForTheLeaseOfAPodThatMayTrainOn) {
  world.cut_off("a");
  world.settle();
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("False OlderGenerationMayTrain: Generation 1 may still train"));
  EXPECT_EQ(world.sent.back().generation, 1) << "nobody was told of generation 2";
  world.pass(kLeaseLength - std::chrono::seconds(1));
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 1);
  world.pass(std::chrono::seconds(1));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(FencedJob, LeaseMayBeRenewedByTheFolderUntilANewerGenerationHasClaimedIt) {
  world.claim_fault = "/checkpoints does not hold the claim of generation 1";
  world.cut_off("a");
  world.settle();
  world.pass(10 * kLeaseLength);
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 1) << "the pod may renew its lease by the folder for ever";
  EXPECT_THAT(world.condition("PodsReady"), HasSubstr("could not be claimed: /checkpoints does not hold"));
  world.claim_fault.clear();
  world.settle();
  world.pass(kLeaseLength - std::chrono::seconds(1));
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 1) << "it may have looked at the folder just before the claim";
  world.pass(std::chrono::seconds(1));
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2);
}

TEST(FencedJobWithoutAFolder, TrainsOnUntilKubernetesConfirmsThatItsPodIsGone) {
  World world;
  world.add_node("a", 2);
  world.add_job();
  world.settle();
  EXPECT_EQ(world.sent.back().lease_seconds, 0) << "an operator that is away must not stop it";
  world.add_node("b", 1);
  world.cut_off("a");
  world.settle();
  world.pass(10 * kLeaseLength);
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 1);
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("False OlderGenerationMayTrain"));
  world.remove_node("a");
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2);
}

TEST_F(FencedJob, StepOfAClockDoesNotEndALease) {
  world.cut_off("a");
  world.settle();
  world.step_clock(std::chrono::seconds(60));
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 1);
  world.step_clock(std::chrono::seconds(-120));
  world.pass(kLeaseLength);
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2);
}

TEST_F(FencedJob, NextLeaderCountsTheLeaseByItsOwnClock) {
  world.cut_off("a");
  world.settle();
  world.pass(kLeaseLength - std::chrono::seconds(1));
  world.restart_operator();
  world.step_clock(std::chrono::seconds(60));  // the next leader's machine is a minute ahead
  world.settle();
  world.pass(kLeaseLength - std::chrono::seconds(1));
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 1);
  world.pass(std::chrono::seconds(1));
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2);
}

TEST_F(FencedJob, NextGenerationWaitsAsLongWhereverTheOperatorDies) {
  for (int k = 0; k < 8; ++k) {
    World here;
    here.add_node("a", 2);
    here.add_job({{"checkpoint", {{"path", "/checkpoints"}}}});
    here.settle();
    here.add_node("b", 1);
    here.cut_off("a");
    here.settle_through_crash(k, true);
    EXPECT_EQ(here.sent.back().generation, 1) << "died at write " << k;
    here.pass(kLeaseLength);
    here.settle();
    EXPECT_EQ(here.generation(), 2) << "died at write " << k;
    EXPECT_EQ(here.state(), "Running") << "died at write " << k;
  }
}

TEST_F(FencedJob, PodWhoseNodeIsGoneIsNotWaitedFor) {
  world.remove_node("a");
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.state(), "Running") << "and no time has passed";
}

TEST_F(FencedJob, PodOfANodeThatWasReplacedUnderItsNameIsDead) {
  world.cut_off("a");
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 1);
  world.api_server.erase("/api/v1/nodes", "a");
  world.add_node("a", 2);
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.state(), "Running") << "and no time has passed";
}

TEST_F(FencedJob, SeveralPodsThatAreCutOffAreReplacedOnceAllAreDead) {
  world.pass(std::chrono::seconds(11));
  world.settle();
  world.add_node("c", 1);
  world.cut_off("a");
  world.cut_off("b");
  world.settle();
  world.pass(2 * kLeaseLength);
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2) << "the two train on with each other's votes";
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2) << "one may still have the other's vote and apply a step";
  world.remove_node("a");
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("c"));
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(FencedJob, PodThatReportsANewerGenerationHasLeftTheOlder) {
  world.pass(std::chrono::seconds(11));
  world.settle();
  world.cut_off("a");
  world.settle();
  EXPECT_EQ(world.generation(), 3) << "b takes part";
  EXPECT_EQ(world.state(), "Running");
  world.add_node("c", 1);
  world.cut_off("b");
  world.settle();
  world.pass(kLeaseLength);
  world.settle();
  EXPECT_THAT(world.condition("Running"), HasSubstr("Training")) << "b has left generation 2, and 3 was leased";
}

TEST_F(FencedJob, OlderGenerationIsForgottenOnceItCannotTrain) {
  for (int change = 0; change < 3; ++change) {
    world.add_node("more-" + std::to_string(change), 1);
    world.pass(std::chrono::seconds(11));
    world.settle();
  }
  EXPECT_EQ(world.record().generation, 4);
  EXPECT_LE(world.record().older.size(), 1U);
}

TEST(LeaseWatch, SupersededClaimOfOneGenerationSaysNothingAboutAnother) {
  GenerationRecord record;
  for (const std::int64_t generation : {3, 4}) record.older.push_back({generation, true, true, {}});
  LeaseWatch watch;
  const auto known = watch.update({"default", "job"}, record, {3}, MonotonicTime());
  EXPECT_TRUE(known.claimed.contains(3));
  EXPECT_FALSE(known.claimed.contains(4)) << "its pod may still renew its lease by the folder";
}

}  // namespace
}  // namespace testing
}  // namespace sailor
