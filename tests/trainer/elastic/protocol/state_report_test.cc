#include "trainer/elastic/protocol/state_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

using Units = std::vector<int>;

const Units kAll = {0, 1, 2, 3};

// State of this step that generation 1 made and trains from.
StateReport of_step(std::int64_t step, Units units) {
  return {.version = {.updated_by = 1, .step = step, .confirmed = 1}, .units = std::move(units), .reached = step};
}

StateReport with_gradients(std::int64_t step, Units units) {
  StateReport report = of_step(step, std::move(units));
  report.version.has_gradients = true;
  report.reached = step + 1;
  return report;
}

StateReport of_generation(std::int64_t generation, StateReport report) {
  report.version.updated_by = report.version.confirmed = generation;
  return report;
}

std::optional<std::int64_t> resumed(const std::vector<StateReport>& reports) {
  const auto point = resume_point(kAll, reports);
  return point ? std::optional(point->step) : std::nullopt;
}

TEST(ResumePoint, DoesNotExistIfNoWorkerHasState) { EXPECT_EQ(resumed({{}, {}, {}}), std::nullopt); }

TEST(ResumePoint, IsTheNewestStepOfWhichEveryUnitExists) {
  EXPECT_EQ(resumed({{}, of_step(7, {0, 1}), of_step(7, {1, 2, 3})}), 7);
  EXPECT_EQ(resumed({of_step(4, kAll), of_step(7, {0, 1}), of_step(7, {2})}), 4);
  EXPECT_EQ(resumed({{}, of_step(7, {0, 1}), of_step(7, {2})}), std::nullopt);
}

TEST(ResumePoint, IsAfterTheStepIfAllHaveItsGradientsEvenIfNoWorkerHasAppliedIt) {
  EXPECT_EQ(resumed({of_step(8, {0, 1}), with_gradients(7, {2, 3})}), 8);
  EXPECT_EQ(resumed({with_gradients(7, {0, 1}), with_gradients(7, {2, 3})}), 8);
}

TEST(ResumePoint, IsBeforeTheStepIfOneWorkerLacksItsGradients) {
  EXPECT_EQ(resumed({with_gradients(7, kAll), of_step(7, {2, 3})}), 7);
}

TEST(ResumePoint, IsTheStateThatWasConfirmedLastWhateverItsStep) {
  EXPECT_EQ(resumed({of_generation(3, of_step(5, kAll)), of_step(9, kAll)}), 5);
}

TEST(ResumePoint, IsNotReachedWithGradientsOfAnotherGeneration) {
  const StateReport late = with_gradients(7, kAll);
  const auto point = resume_point(kAll, {late, of_generation(3, of_step(8, kAll))});
  ASSERT_TRUE(point);
  EXPECT_EQ(point->step, 8);
  EXPECT_FALSE(can_offer(late, *point));
}

TEST(StepsLost, CountsTheStepInFlightAndThoseSinceTheCheckpoint) {
  EXPECT_EQ(steps_lost({with_gradients(7, kAll), of_step(7, kAll)}, 7), 1);
  EXPECT_EQ(steps_lost({with_gradients(7, kAll), of_step(8, kAll)}, 8), 0);
  EXPECT_EQ(steps_lost({with_gradients(12, {0})}, 10), 3);
  EXPECT_EQ(steps_lost({StateReport{}}, 10), 0);
}

// No vote needed it, so its lack of gradients does not show that nobody has applied the step.
TEST(ResumePoint, IsAfterTheStepAlthoughAWorkerThatOnlyReceivedItsStateLacksTheGradients) {
  StateReport received = of_step(7, kAll);
  EXPECT_EQ(resumed({with_gradients(7, kAll), received}), 7);
  received.version.may_be_behind = true;
  EXPECT_EQ(resumed({with_gradients(7, kAll), received}), 8);
  EXPECT_EQ(resumed({of_step(7, {0, 1}), received}), 7) << "it offers what it has";
}

TEST(ResumePoint, MayBeBehindUnlessAVoterIsKnownToLackTheNextGradients) {
  const auto may_be_behind = [](const std::vector<StateReport>& reports) {
    return resume_point(kAll, reports).value().may_be_behind;
  };
  StateReport received = of_step(7, kAll);
  received.version.may_be_behind = true;
  EXPECT_TRUE(may_be_behind({received}));
  EXPECT_TRUE(may_be_behind({received, with_gradients(7, {0, 1})}) &&
              resumed({received, with_gradients(7, {0, 1})}) == 7)
      << "the units of the next step are elsewhere";
  EXPECT_FALSE(may_be_behind({received, of_step(7, {0, 1})}));
  EXPECT_FALSE(may_be_behind({received, with_gradients(7, kAll)})) << "it has no gradients of step 9";
  EXPECT_TRUE(may_be_behind({received, of_step(7, {})})) << "a worker without state shows nothing";
  StateReport older = of_step(7, kAll);
  older.version.confirmed = 0;
  EXPECT_TRUE(may_be_behind({received, older})) << "it did not vote in generation 1";
}

// Generation 1 has two voters. One worker has received its state, meets alone in generation 3, which does not start,
// and meets a voter with gradients in generation 4. The other voter may have applied the step.
TEST(ResumePoint, IsAfterTheStepAlthoughAWorkerHasReceivedStateFromARendezvousOfWhichNoGenerationStarted) {
  WorkerState worker{.place = WorkerPlace::kRendezvous, .generation = 3, .has_role = true};
  worker = after(worker, event::StateStreamed{.step = 7, .updated_by = 1, .generation = 1, .is_final = false});
  const ResumePoint alone = resume_point(kAll, {{.version = worker.version, .units = kAll}}).value();
  worker = after(
      worker,
      event::StateReportsKnown{
          .can_offer = true, .step = alone.step, .updated_by = alone.updated_by, .may_be_behind = alone.may_be_behind});
  EXPECT_EQ(resumed({with_gradients(7, kAll), {.version = worker.version, .units = kAll}}), 8);
  worker = after(worker, event::StateTransferred{.step = alone.step,
                                                 .updated_by = alone.updated_by,
                                                 .confirmed = alone.confirmed,
                                                 .may_be_behind = alone.may_be_behind});
  EXPECT_EQ(resumed({with_gradients(7, kAll), {.version = worker.version, .units = kAll}}), 8);
  worker = after(worker, event::Confirmed{});
  EXPECT_EQ(resumed({with_gradients(7, kAll), {.version = worker.version, .units = kAll}}), 7) << "generation 3 trains";
}

TEST(StateReport, SurvivesSerializationExceptForItsUnits) {
  StateReport report = with_gradients(7, {});  // all workers number them alike, once they know of each other's
  report.loss = 0.1;
  report.next_loss = 0.05;
  report.first_loss = 5.5;
  report.stopped_seconds = 0.25;
  EXPECT_EQ(*state_report_from_line(to_line(report)), report);
  report.version.may_be_behind = true;
  EXPECT_EQ(*state_report_from_line(to_line(report)), report);
  EXPECT_FALSE(state_report_from_line("{}"));
  EXPECT_FALSE(state_report_from_line("nonsense"));
}

}  // namespace
}  // namespace sailor::trainer
