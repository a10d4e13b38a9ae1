#include "planner/problem/objective.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sailor {
namespace {

constexpr double kBeyondAnyRatio = 1e100;

// A limit of zero is a limit, and what exceeds it less misses it by less.
double relative_miss(double value, double limit) {
  if (value <= limit) return 0;
  return limit > 0 ? value / limit - 1 : kBeyondAnyRatio * value;
}

double cost_miss(const MaximizeThroughput& objective, const Quote& quote) {
  double miss = 0;
  if (objective.max_cost_per_iteration) {
    miss = relative_miss(quote.cost.value(), objective.max_cost_per_iteration->value());
  }
  if (objective.max_cost_per_hour) {
    miss = std::max(miss, relative_miss(cost_per_hour(quote).value(), objective.max_cost_per_hour->value()));
  }
  return miss;
}

double throughput_miss(const MinimizeCost& objective, const Quote& quote) {
  if (!objective.min_throughput) return 0;
  return relative_miss(*objective.min_throughput, 1 / quote.iteration.value());
}

}  // namespace

DollarsPerHour cost_per_hour(const Quote& quote) {
  return DollarsPerHour(quote.cost.value() * 3600 / quote.iteration.value());
}

Misses misses_of(const Quote& quote, int gpus, const JobSpec& job) {
  Misses misses;
  misses.memory = std::max(0.0, quote.memory_excess / gibibytes(1));
  misses.gpus = relative_miss(job.resources.min_gpus, gpus);
  if (const auto* throughput = std::get_if<MaximizeThroughput>(&job.objective)) {
    misses.cost = cost_miss(*throughput, quote);
  } else {
    misses.throughput = throughput_miss(std::get<MinimizeCost>(job.objective), quote);
  }
  return misses;
}

Ceiling ceiling_of(double value, const JobSpec& job) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto above = [](double limit) { return std::nextafter(limit * (1 + 1e-12), kInfinity); };
  Ceiling ceiling;
  if (const auto* throughput = std::get_if<MaximizeThroughput>(&job.objective)) {
    ceiling.iteration = Seconds(value);
    if (throughput->max_cost_per_iteration) ceiling.cost = Dollars(above(throughput->max_cost_per_iteration->value()));
  } else {
    ceiling.cost = Dollars(value);
    const auto& limit = std::get<MinimizeCost>(job.objective).min_throughput;
    if (limit && *limit > 0) ceiling.iteration = Seconds(above(1 / *limit));
  }
  return ceiling;
}

Score score_of(const Quote& quote, int gpus, const JobSpec& job) {
  const bool seeks_throughput = std::holds_alternative<MaximizeThroughput>(job.objective);
  return {misses_of(quote, gpus, job).sum(), seeks_throughput ? quote.iteration.value() : quote.cost.value(), gpus};
}

}  // namespace sailor
