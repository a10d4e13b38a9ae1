#include "trainer/agent/agent_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/exit_status.h"
#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Assignment a_generation(std::int64_t number) {
  const Assignment job = testing::tiny_job("unused");
  return testing::generation(job, number, testing::plan_of(job, {{0, 5, {4, 4}}}),
                             {{.name = "pod-0", .host = "", .port = 1, .store_port = 1, .pool = {}, .gpus = 2}});
}

WorkerReport worker(int gpu, WorkerPhase phase, std::string message = "") {
  return {.gpu = gpu, .phase = phase, .generation = 1, .step = 3, .message = std::move(message)};
}

Hint peer_lost(const std::string& message) {
  return {.job = a_generation(1).job,
          .job_uid = a_generation(1).job_uid,
          .agent = "pod-0",
          .reason = HintReason::kPeerLost,
          .message = message};
}

AgentState with(WorkerPhase first, WorkerPhase second) {
  AgentState state("pod-0", 2);
  state.note(worker(0, first), {});
  state.note(worker(1, second), {});
  return state;
}

TEST(AgentState, TakesOnlyNewerGenerationsOfItsOwnJob) {
  AgentState state("pod-0", 2);
  EXPECT_TRUE(state.take(a_generation(3)));
  EXPECT_EQ(state.take(a_generation(3)).error().code, ErrorCode::kConflict);
  EXPECT_EQ(state.take(a_generation(2)).error().code, ErrorCode::kConflict);
  Assignment other = a_generation(4);
  other.job_uid = "another";
  EXPECT_EQ(state.take(other).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(state.take(a_generation(4)));
}

TEST(AgentState, RefusesAnAssignmentThatIsNotForIt) {
  AgentState stranger("pod-9", 2), small("pod-0", 1);
  EXPECT_THAT(stranger.take(a_generation(1)).error().message, HasSubstr("names no agent pod-9"));
  EXPECT_THAT(small.take(a_generation(1)).error().message, HasSubstr("wants 2 GPUs"));
}

TEST(AgentState, EndsWhenItsWorkersAreDoneOrOneHasFailed) {
  EXPECT_EQ(with(WorkerPhase::kTraining, WorkerPhase::kFinished).exit_status(), std::nullopt);
  EXPECT_EQ(with(WorkerPhase::kFinished, WorkerPhase::kFinished).exit_status(), 0);
  EXPECT_EQ(with(WorkerPhase::kFinished, WorkerPhase::kReleased).exit_status(), 0);
  EXPECT_EQ(with(WorkerPhase::kTraining, WorkerPhase::kFailed).exit_status(), 1);
  EXPECT_EQ(with(WorkerPhase::kReleased, WorkerPhase::kReleased).exit_status(), std::nullopt);
}

TEST(AgentState, AfterSigtermItEndsOnceItsStateIsNotNeeded) {
  for (const auto& [phase, status] : {std::pair(WorkerPhase::kTraining, std::optional<int>()),
                                      {WorkerPhase::kBroken, std::nullopt},
                                      {WorkerPhase::kPreparing, std::nullopt},
                                      {WorkerPhase::kIdle, 0},
                                      {WorkerPhase::kReleased, 0}}) {
    AgentState state = with(phase, WorkerPhase::kReleased);
    state.note_termination();
    EXPECT_EQ(state.exit_status(), status) << to_string(phase);
  }
}

TEST(AgentState, AfterSigtermItEndsWhenTheOperatorSaysThatItsStateIsNotNeeded) {
  AgentState state = with(WorkerPhase::kTraining, WorkerPhase::kTraining);
  state.note_dismissal();
  EXPECT_EQ(state.exit_status(), std::nullopt) << "it was not told to stop";
  state.note_termination();
  EXPECT_EQ(state.exit_status(), std::nullopt) << "what the operator said before does not count";
  state.note_dismissal();
  EXPECT_EQ(state.exit_status(), 0);
}

TEST(AgentState, SendsOneHintPerGeneration) {
  AgentState state("pod-0", 2);
  ASSERT_TRUE(state.take(a_generation(1)));
  state.note(worker(0, WorkerPhase::kBroken, "gone"), {});
  state.note(worker(1, WorkerPhase::kBroken, "gone too"), {});
  EXPECT_THAT(state.take_hints(), ElementsAre(peer_lost("gone")));
  EXPECT_THAT(state.take_hints(), IsEmpty());
  ASSERT_TRUE(state.take(a_generation(2)));
  state.note(worker(0, WorkerPhase::kBroken, "again"), {});
  EXPECT_THAT(state.take_hints(), ElementsAre(peer_lost("again")));
}

TEST(AgentState, AWorkerThatExitsUnexpectedlyHasFailedAndOneThatIsDoneHasNot) {
  AgentState state = with(WorkerPhase::kTraining, WorkerPhase::kReleased);
  state.note_end_of_worker(1, "ended with status 0");
  EXPECT_EQ(state.exit_status(), std::nullopt);
  state.note_end_of_worker(0, "was killed by signal 9");
  EXPECT_EQ(state.exit_status(), 1);
  EXPECT_THAT(state.report().workers[0].message, HasSubstr("GPU 0 of pod-0 was killed by signal 9 at step 3"));
}

TEST(AgentState, EndsAsUnresponsiveOnlyIfNoWorkerFailedOtherwise) {
  AgentState state = with(WorkerPhase::kTraining, WorkerPhase::kTraining);
  state.note_unresponsive_worker(0);
  EXPECT_EQ(state.exit_status(), kExitWorkerUnresponsive);
  EXPECT_THAT(state.report().workers[0].message, HasSubstr("did not answer and was killed at step 3"));
  state.note_end_of_worker(1, "was killed by signal 11");
  EXPECT_EQ(state.exit_status(), kExitFailed);
  AgentState done = with(WorkerPhase::kFinished, WorkerPhase::kFinished);
  done.note_unresponsive_worker(0);
  EXPECT_EQ(done.exit_status(), kExitDone);
}

TEST(AgentState, ProgressOfAGenerationThatIsOverIsNotReported) {
  AgentState state("pod-0", 1);
  state.note(worker(0, WorkerPhase::kTraining), JobProgress{.generation = 1, .step = 3});
  EXPECT_TRUE(state.report().progress);
  WorkerReport next = worker(0, WorkerPhase::kTraining);
  next.generation = 2;
  state.note(next, {});
  EXPECT_FALSE(state.report().progress);
}

TEST(AgentState, ReportsAndHintsWhichPeersOfItsGenerationAreUnresponsive) {
  AgentState state("pod-0", 2);
  ASSERT_TRUE(state.take(a_generation(1)));
  state.note_peer(1, "pod-1", true);
  EXPECT_THAT(state.report().unresponsive_peers, ElementsAre("pod-1"));
  EXPECT_THAT(state.take_hints(), ElementsAre(peer_lost("pod pod-1 does not answer")));
  state.note_peer(1, "pod-1", false);
  EXPECT_THAT(state.report().unresponsive_peers, IsEmpty());
  state.note_peer(1, "pod-1", true);
  ASSERT_TRUE(state.take(a_generation(2)));
  EXPECT_THAT(state.report().unresponsive_peers, IsEmpty());
  state.note_peer(1, "pod-1", true);
  EXPECT_THAT(state.report().unresponsive_peers, IsEmpty()) << "of a generation that is over";
}

}  // namespace
}  // namespace sailor::trainer
