#include "core/model/missed_limit.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sailor {
namespace {

// Iterations of two seconds.
std::string missed(const Objective& objective, double dollars) {
  const auto limit = missed_limit(objective, Seconds(2), Dollars(dollars));
  return limit ? to_string(*limit) : "none";
}

TEST(MissedLimit, NamesTheLimitAndTheFigure) {
  EXPECT_EQ(missed(MaximizeThroughput{Dollars(0.01), std::nullopt}, 0.02),
            "costs $0.02 an iteration, and maxCostPerIteration is $0.01");
  EXPECT_EQ(missed(MaximizeThroughput{std::nullopt, DollarsPerHour(10)}, 0.02),
            "costs $36 an hour, and maxCostPerHour is $10");
  EXPECT_EQ(missed(MinimizeCost{1}, 0.02), "makes 0.5 iterations/s, and minThroughput is 1");
}

TEST(MissedLimit, AFigureThatEqualsTheLimitKeepsIt) {
  const double in_another_order = std::nextafter(0.02, 1);
  EXPECT_EQ(missed(MaximizeThroughput{Dollars(0.02), DollarsPerHour(36)}, in_another_order), "none");
  EXPECT_EQ(missed(MinimizeCost{0.5}, 1000), "none");
}

TEST(MissedLimit, NoLimitIsNotALimitOfZero) {
  EXPECT_EQ(missed(MaximizeThroughput{}, 1000), "none");
  EXPECT_EQ(missed(MinimizeCost{}, 1000), "none");
  EXPECT_EQ(missed(MaximizeThroughput{Dollars(0), std::nullopt}, 0.02),
            "costs $0.02 an iteration, and maxCostPerIteration is $0");
  EXPECT_EQ(missed(MinimizeCost{0}, 1000), "none") << "any plan is that fast";
}

TEST(MissedLimit, AskedForTheFigureItNamesAPlanKeepsIt) {
  for (const double dollars : {1.0 / 3, 0.0123456, 98765.4321}) {
    const auto limit = missed_limit(MaximizeThroughput{Dollars(0), std::nullopt}, Seconds(2), Dollars(dollars));
    EXPECT_EQ(missed(MaximizeThroughput{Dollars(figure_to_ask_for(*limit)), std::nullopt}, dollars), "none");
  }
  for (const double seconds : {1.0 / 3, 7.0, 0.0123456}) {
    const auto limit = missed_limit(MinimizeCost{1e9}, Seconds(seconds), Dollars(1));
    EXPECT_FALSE(missed_limit(MinimizeCost{figure_to_ask_for(*limit)}, Seconds(seconds), Dollars(1)));
  }
}

}  // namespace
}  // namespace sailor
