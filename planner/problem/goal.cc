#include "planner/problem/goal.h"

#include <algorithm>
#include <cmath>

#include "core/model/missed_limit.h"

namespace sailor {
namespace {

constexpr double kBeyondAnyRatio = 1e100;
// Two plans that differ by at most this fraction are equally good.
constexpr double kEqual = 0.01;
constexpr double kRounding = 1e-9;

// If the limit is zero, the ratio to it is not defined. The result is then huge, but still proportional to the excess.
double relative_miss(double value, double limit) {
  if (value <= limit * (1 + kRoundingOfSums)) return 0;
  return limit > 0 ? value / limit - 1 : kBeyondAnyRatio * value;
}

// A cutoff is reached by equal figures, and a limit is not.
double just_above(double limit) { return std::nextafter(limit * (1 + kRoundingOfSums), Goal::kUnlimited); }

void set_limits(const MaximizeThroughput& objective, Goal& goal) {
  if (objective.max_cost_per_iteration) goal.most_cost = *objective.max_cost_per_iteration;
  if (objective.max_cost_per_hour) goal.most_cost_per_hour = *objective.max_cost_per_hour;
}

void set_limits(const MinimizeCost& objective, Goal& goal) {
  goal.figure = Goal::Figure::kCost;
  if (objective.min_throughput && *objective.min_throughput > 0) {
    goal.longest = Seconds(1 / *objective.min_throughput);
  }
}

}  // namespace

Goal Goal::of(const JobSpec& job) {
  Goal goal{.fewest_gpus = job.resources.min_gpus};
  std::visit([&](const auto& objective) { set_limits(objective, goal); }, job.objective);
  return goal;
}

Goal Goal::among_equals_of(const EstimateSummary& best) const {
  Goal goal = *this;
  if (figure == Figure::kTime) {
    goal.figure = Figure::kCost;
    goal.longest = std::min(longest, best.iteration * (1 + kRounding));
    goal.longest_useful = std::min(longest_useful, best.useful_iteration() * (1 + kEqual));
  } else {
    goal.figure = Figure::kTime;
    goal.most_useful_cost = std::min(most_useful_cost, best.useful_cost() * (1 + kEqual));
  }
  return goal;
}

bool Goal::limits_iteration() const {
  return std::min(longest, longest_useful) < Seconds(kUnlimited) ||
         std::min(most_cost, most_useful_cost) < Dollars(kUnlimited);
}

Goal Goal::loosened(double factor) const {
  Goal goal = *this;
  goal.longest = longest * factor;
  goal.longest_useful = longest_useful * factor;
  goal.most_cost = most_cost * factor;
  goal.most_useful_cost = most_useful_cost * factor;
  return goal;
}

Goal Goal::without_limits_of_iteration() const {
  Goal goal = *this;
  goal.longest = goal.longest_useful = Seconds(kUnlimited);
  goal.most_cost = goal.most_useful_cost = Dollars(kUnlimited);
  return goal;
}

double Goal::value_of(const EstimateSummary& estimate) const {
  return figure == Figure::kTime ? estimate.useful_iteration().value() : estimate.useful_cost().value();
}

Misses Goal::misses_of(const EstimateSummary& estimate, int gpus) const {
  const double per_hour = relative_miss(estimate.cost_per_hour().value(), most_cost_per_hour.value());
  const double cost = relative_miss(estimate.cost.value(), most_cost.value());
  const double useful_cost = relative_miss(estimate.useful_cost().value(), most_useful_cost.value());
  const double time = relative_miss(estimate.iteration.value(), longest.value());
  const double useful_time = relative_miss(estimate.useful_iteration().value(), longest_useful.value());
  return {.memory = std::max(0.0, estimate.memory_excess / gibibytes(1)),
          .cost = std::max({cost, per_hour, useful_cost}),
          .throughput = std::max(time, useful_time),
          .gpus = relative_miss(fewest_gpus, gpus)};
}

Score Goal::score_of(const EstimateSummary& estimate, int gpus) const {
  const double time = estimate.useful_iteration().value();
  const double cost = estimate.useful_cost().value();
  const double excess = misses_of(estimate, gpus).sum();
  if (figure == Figure::kTime) return {excess, time, cost, gpus};
  return {excess, cost, time, gpus};
}

// The useful figures are never below those of the iteration itself, so limits on them limit both.
Cutoff Goal::cutoff_for(double value) const {
  Cutoff cutoff{.iteration = Seconds(just_above(std::min(longest, longest_useful).value())),
                .cost = Dollars(just_above(std::min(most_cost, most_useful_cost).value()))};
  if (figure == Figure::kTime) {
    cutoff.iteration = std::min(cutoff.iteration, Seconds(value));
  } else {
    cutoff.cost = std::min(cutoff.cost, Dollars(value));
  }
  return cutoff;
}

}  // namespace sailor
