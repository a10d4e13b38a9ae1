#include "core/model/missed_limit.h"

#include <cmath>

#include <fmt/format.h>

namespace sailor {
namespace {

using enum MissedLimit::Kind;

bool exceeds(double figure, double limit) { return figure > limit * (1 + kRoundingOfSums); }

std::optional<MissedLimit> missed_limit_of(const MaximizeThroughput& objective, Seconds iteration, Dollars cost) {
  const double per_iteration = cost.value();
  const double per_hour = (cost / iteration).value();
  const auto& most = objective.max_cost_per_iteration;
  if (most && exceeds(per_iteration, most->value())) return {{kCostPerIteration, per_iteration, most->value()}};
  const auto& hourly = objective.max_cost_per_hour;
  if (hourly && exceeds(per_hour, hourly->value())) return {{kCostPerHour, per_hour, hourly->value()}};
  return std::nullopt;
}

std::optional<MissedLimit> missed_limit_of(const MinimizeCost& objective, Seconds iteration, Dollars) {
  const auto& least = objective.min_throughput;
  if (!least || *least <= 0 || !exceeds(iteration.value(), 1 / *least)) return std::nullopt;
  return {{kThroughput, 1 / iteration.value(), *least}};
}

double rounded_up(double value) {
  if (value <= 0) return 0;
  const double digit = std::pow(10, std::floor(std::log10(value)) - 3);
  return std::ceil(value / digit) * digit;
}
double rounded_down(double value) { return 1 / rounded_up(1 / value); }

}  // namespace

std::optional<MissedLimit> missed_limit(const Objective& objective, Seconds iteration, Dollars cost) {
  return std::visit([&](const auto& one) { return missed_limit_of(one, iteration, cost); }, objective);
}

double figure_to_ask_for(const MissedLimit& missed) {
  return missed.kind == kThroughput ? rounded_down(missed.figure) : rounded_up(missed.figure);
}

std::string to_string(const MissedLimit& missed) {
  const double figure = figure_to_ask_for(missed);
  switch (missed.kind) {
    case kCostPerIteration:
      return fmt::format("costs ${:.4g} an iteration, and maxCostPerIteration is ${:.6g}", figure, missed.limit);
    case kCostPerHour:
      return fmt::format("costs ${:.4g} an hour, and maxCostPerHour is ${:.6g}", figure, missed.limit);
    case kThroughput:
      break;
  }
  return fmt::format("makes {:.4g} iterations/s, and minThroughput is {:.6g}", figure, missed.limit);
}

}  // namespace sailor
