// Each rule of docs/elasticity-internals.md is necessary: if one is broken, the exploration finds a sequence of events
// that violates an invariant, and prints the sequence.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/trainer/elastic/protocol/search.h"

namespace sailor::trainer::exploration {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

std::vector<std::string> failures(const Rules& rules, const Limits& limits, const World& first = training_world()) {
  const Survey survey = explore(first, limits, rules);
  for (const std::string& failure : survey.failures) std::printf("%s", failure.c_str());
  std::printf("(%zu states)\n", survey.worlds);
  const Survey unreduced = explore(first, limits, rules, Reduction::kNone);
  EXPECT_EQ(unreduced.failures.size(), survey.failures.size())
      << "the exploration with reduction and the one without disagree";
  return survey.failures;
}

TEST(BrokenRule, AnOlderGenerationIsObeyed) {
  const Rules rules{.after =
                        [](WorkerState state, const Event& event) {
                          const auto* assigned = std::get_if<event::Assigned>(&event);
                          if (assigned != nullptr && assigned->command.generation < state.generation) {
                            state.generation = assigned->command.generation;
                            state.place = WorkerPlace::kRendezvous;
                            return state;
                          }
                          return after(state, event);
                        },
                    .takes = [](std::int64_t taken, std::int64_t offered) { return offered != taken; }};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 0, .steps = 1}),
              ElementsAre(StartsWith("a worker obeyed an older generation")));
}

TEST(BrokenRule, AnUpdateIsAppliedWithoutTheVotes) {
  const Rules rules{.after = [](WorkerState state, const Event& event) {
    const bool computes = std::holds_alternative<event::Computed>(event);
    return computes ? after(after(state, event), event::Voted{}) : after(state, event);
  }};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 1}),
              ElementsAre(StartsWith("a step is applied that another worker of the generation cannot apply")));
}

TEST(BrokenRule, AGenerationIsAnnouncedBeforeOlderOnesAreFenced) {
  const Rules rules{.is_fenced = [](const OlderGeneration&, const std::vector<PodState>&,
                                    const std::vector<std::size_t>&) { return true; }};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 2}),
              ElementsAre(StartsWith("two generations train at the same time")));
}

TEST(BrokenRule, AGenerationOfOneWorkerCountsAsFencedBeforeItsLeaseHasLapsed) {
  const Rules rules{.is_fenced = [](const OlderGeneration& older, const std::vector<PodState>& pods,
                                    const std::vector<std::size_t>& taking_part) {
    return older.pods.size() == 1 || is_fenced(older, pods, taking_part);
  }};
  EXPECT_THAT(failures(rules, {.faults = 1, .steps = 2}, lone_world()),
              ElementsAre(StartsWith("a generation trains on without its lease while another trains")));
}

TEST(BrokenRule, ALeaseIsRenewedAlthoughANewerGenerationIsRecorded) {
  const Rules rules{.renews_lease = [](std::int64_t, std::int64_t, std::int64_t, bool) { return true; }};
  EXPECT_THAT(failures(rules, {.faults = 1, .steps = 2}, lone_world()),
              ElementsAre(StartsWith("a generation trains on without its lease while another trains")));
}

TEST(BrokenRule, ALeaseCountsAsLapsedAlthoughTheFolderIsNotClaimed) {
  const Rules rules{.has_lapsed = [](const LeaseKnowledge& lease) { return lease.is_unrenewed; }};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 2}, lone_world()),
              ElementsAre(StartsWith("a generation trains on without its lease while another trains")));
}

TEST(BrokenRule, TheFolderRenewsALeaseAlthoughItsClaimIsSuperseded) {
  const Rules rules{.folder_renews = [](std::int64_t) { return true; }};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 2}, lone_world()),
              ElementsAre(StartsWith("a generation trains on without its lease while another trains")));
}

TEST(BrokenRule, ALeavingWorkerIsNotInvited) {
  const Rules rules{.participants = [](const std::vector<PodState>& pods) {
    auto taking_part = participants(pods);
    if (taking_part) std::erase_if(*taking_part, [&](std::size_t pod) { return !pods[pod].has_slot; });
    return taking_part;
  }};
  EXPECT_THAT(failures(rules, {.changes = 2, .faults = 0, .steps = 1}),
              ElementsAre(StartsWith("a worker that holds state is not invited")));
}

TEST(BrokenRule, NoWorkerRollsForward) {
  const Rules rules{.resume_point = [](const std::vector<int>& units, const std::vector<StateReport>& reports) {
    std::vector<StateReport> poorer = reports;
    for (StateReport& report : poorer) report.version.has_gradients = false;
    return resume_point(units, poorer);
  }};
  EXPECT_THAT(failures(rules, {.faults = 1, .steps = 1}), ElementsAre(StartsWith("state in memory was thrown away")));
}

TEST(BrokenRule, AWorkerRollsForwardAlthoughOthersLackTheGradients) {
  const Rules rules{.resume_point = [](const std::vector<int>& units, const std::vector<StateReport>& reports) {
    std::vector<StateReport> eager = reports;
    const bool any = std::ranges::any_of(eager, [](const StateReport& report) { return report.version.has_gradients; });
    if (any) std::erase_if(eager, [](const StateReport& report) { return !report.version.has_gradients; });
    const auto point = resume_point(units, eager);
    return point ? point : resume_point(units, reports);
  }};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 1}), ElementsAre(StartsWith("an abandoned state was resumed")));
}

TEST(BrokenRule, StatesOfEqualStepsCountAsEqual) {
  const Rules rules{.can_offer = [](const StateReport& report, const ResumePoint& point) {
    return report.version.updated_by > 0 && report.version.step == point.step;
  }};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 1}),
              ElementsAre(StartsWith("a worker does not have all units of its role")));
}

TEST(BrokenRule, AUnitIsNotSent) {
  const Rules rules{.plan_transfers = [](const TransferQuestion& question) {
    TransferPlan plan = plan_transfers(question);
    if (!plan.moves.empty()) plan.moves.pop_back();
    return plan;
  }};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 0, .steps = 1}),
              ElementsAre(StartsWith("a worker does not have all units of its role")));
}

TEST(BrokenRule, ALeavingWorkerIsReleasedBeforeAllHaveConfirmed) {
  const Rules rules{.after = [](WorkerState state, const Event& event) {
    const bool leaves = std::holds_alternative<event::StateTransferred>(event) && !state.has_role;
    return leaves ? after(after(state, event), event::Confirmed{}) : after(state, event);
  }};
  EXPECT_THAT(failures(rules, {.changes = 2, .faults = 0, .steps = 1}),
              ElementsAre(StartsWith("state was freed before others had it")));
}

TEST(BrokenRule, AWorkerThatWasNotifiedOfAGenerationButHasNotReportedItIsLeftOut) {
  const Rules rules{.participants = [](const std::vector<PodState>& pods) {
    std::vector<PodState> forgetful = pods;
    for (PodState& pod : forgetful) pod.notified = 0;
    return participants(forgetful);
  }};
  EXPECT_THAT(failures(rules, {.changes = 2, .faults = 1, .steps = 1}),
              ElementsAre(StartsWith("a worker that holds state is not invited")));
}

TEST(BrokenRule, TheStateWithTheMostStepsWinsEvenIfANewerOneIsConfirmed) {
  const Rules rules{.resume_point = [](const std::vector<int>& units, const std::vector<StateReport>& reports) {
    std::int64_t most = 0;
    for (const StateReport& report : reports) most = std::max(most, report.version.step);
    std::vector<StateReport> furthest = reports;
    std::erase_if(furthest, [&](const StateReport& report) { return report.version.step < most; });
    const auto point = resume_point(units, furthest);
    return point ? point : resume_point(units, reports);
  }};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 2}, lone_world()),
              ElementsAre(StartsWith("an abandoned state was resumed")));
}

TEST(BrokenRule, AStalePodIsInvited) {
  const Rules rules{.participants = [](const std::vector<PodState>& pods) {
    std::vector<PodState> trusting = pods;
    for (PodState& pod : trusting) pod.is_stale = false;
    return participants(trusting);
  }};
  EXPECT_THAT(failures(rules, {.faults = 1, .steps = 1, .releases = 1}),
              ElementsAre(StartsWith("a checkpoint's steps were thrown away")));
}

TEST(BrokenRule, AJoiningWorkerIsSentALastStepBeforeAllHaveVoted) {
  const Rules rules{.streaming = {.is_sent_before_the_vote = true}};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 1, .steps = 1}),
              ElementsAre(StartsWith("a step is applied that another worker of the generation cannot apply")));
}

TEST(BrokenRule, AWorkerThatOnlyReceivedItsStateCountsAsAVoterWithoutGradients) {
  const Rules rules{.resume_point = [](const std::vector<int>& units, const std::vector<StateReport>& reports) {
    std::vector<StateReport> voters = reports;
    for (StateReport& report : voters) report.version.may_be_behind = false;
    return resume_point(units, voters);
  }};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 1, .steps = 1}),
              ElementsAre(StartsWith("state in memory was thrown away")));
}

TEST(BrokenRule, PartlyStreamedStateCountsAsComplete) {
  const Rules rules{.streaming = {.counts_a_shard_as_the_whole = true}};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 0, .steps = 1}),
              ElementsAre(StartsWith("a joining worker holds what it was not sent")));
}

TEST(BrokenRule, AWorkerAddsStateOfAnotherStepToItsOwn) {
  const Rules rules{.streaming = {.adds_to_any_state = true}};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 1, .steps = 1}, pipeline_world()),
              ElementsAre(StartsWith("a worker holds state of another step than it says")));
}

TEST(BrokenRule, JoiningWorkersAreAwaitedWithoutLimit) {
  const Rules rules{.streaming = {.is_awaited_without_limit = true}};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 0, .steps = 1}),
              ElementsAre(StartsWith("a change is postponed for ever")));
}

TEST(BrokenRule, AnUnreachablePodIsInvitedToTheRendezvous) {
  const Rules rules{.participants = [](const std::vector<PodState>& pods) {
    std::vector<PodState> reached = pods;
    for (PodState& pod : reached) pod.is_unreachable = false;
    return participants(reached);
  }};
  EXPECT_THAT(failures(rules, {.faults = 1, .steps = 1, .paths_break = true}),
              ElementsAre(StartsWith("an unreachable pod is invited to a rendezvous")));
}

TEST(BrokenRule, AnUnreachablePodCountsAsDeadAlthoughItHoldsItsLease) {
  const Rules rules{.is_fenced = [](const OlderGeneration& older, const std::vector<PodState>& pods,
                                    const std::vector<std::size_t>& taking_part) {
    std::vector<PodState> dead = pods;
    for (PodState& pod : dead) pod.is_dead = pod.is_dead || pod.is_unreachable;
    return is_fenced(older, dead, taking_part);
  }};
  EXPECT_THAT(failures(rules, {.changes = 1, .faults = 1, .steps = 1, .state_is_streamed = false, .paths_break = true},
                       lone_world()),
              ElementsAre(StartsWith("a generation trains on without its lease while another trains")));
}

TEST(BrokenRule, ABrokenPathIsRetriedForever) {
  const Rules rules{.broken_paths = {.leave_one_out = false}};
  EXPECT_THAT(failures(rules, {.faults = 1, .steps = 1, .paths_break = true}),
              ElementsAre(StartsWith("generations are made without end")));
}

TEST(BrokenRule, AnUnreachablePodIsKeptAlthoughTheOthersWaitForItsEnd) {
  const Rules rules{.broken_paths = {.delete_pods_that_others_wait_for = false}};
  EXPECT_THAT(failures(rules, {.faults = 2, .steps = 1, .paths_break = true}),
              ElementsAre(StartsWith("nothing leads to training")));
}

}  // namespace
}  // namespace sailor::trainer::exploration
