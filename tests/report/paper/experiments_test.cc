// The experiments are complete and refer only to what exists.
#include "report/paper/experiments.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::paper {
namespace {

using ::testing::HasSubstr;

std::set<std::string> ids() {
  std::set<std::string> found;
  for (const Experiment& experiment : evaluation().experiments) found.insert(experiment.id);
  return found;
}

TEST(Experiments, EveryFigureAndTableThatASimulationCanRepeatIsThere) {
  EXPECT_EQ(ids(), (std::set<std::string>{"1", "5a", "5b", "6", "7", "8a", "8b", "9a", "9b", "10", "11", "12", "13",
                                          "14", "t1", "t2", "t3", "s5.3"}));
  EXPECT_EQ(evaluation().experiments.size(), ids().size()) << "two experiments have the same id";
}

TEST(Experiments, WhatIsNotReproducedHasAReason) {
  ASSERT_FALSE(evaluation().not_reproduced.empty());
  for (const NotReproduced& one : evaluation().not_reproduced) EXPECT_FALSE(one.reason.empty()) << one.name;
}

TEST(Experiments, EveryCaseHasAKnownModelAndPricedGpus) {
  for (const Experiment& experiment : evaluation().experiments) {
    for (const Case& one : experiment.cases) {
      EXPECT_TRUE(find_model(one.model)) << one.name;
      EXPECT_TRUE(evaluation().training_configs.contains(one.model)) << one.name;
      for (const ArtifactPool& pool : one.gpus) EXPECT_TRUE(evaluation().prices.contains(pool.accelerator)) << one.name;
    }
  }
}

TEST(Experiments, EveryExperimentHasAClaimWithAValueOfThePaperOrSaysThatThereIsNone) {
  for (const Experiment& experiment : evaluation().experiments) {
    const bool has_value = std::ranges::any_of(experiment.claims, [](const Claim& claim) {
      return claim.published.range.has_value() || !claim.published.text.empty();
    });
    EXPECT_TRUE(has_value || experiment.note.starts_with("No number of this figure is in the text")) << experiment.id;
  }
}

TEST(Experiments, LimitsOfTheObjectivesAreThoseOfThePaper) {
  const Objective cheapest = find_experiment("13").value()->cases.front().objective;
  EXPECT_EQ(std::get<MinimizeCost>(cheapest).min_throughput, 0.2);
  const Objective fastest = find_experiment("14").value()->cases.front().objective;
  EXPECT_EQ(std::get<MaximizeThroughput>(fastest).max_cost_per_iteration, Dollars(1.2));
}

TEST(Experiments, AnUnknownExperimentIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(find_experiment("99").error().message, HasSubstr("99 is not an experiment; use one of 1, 5a"));
}

}  // namespace
}  // namespace sailor::paper
