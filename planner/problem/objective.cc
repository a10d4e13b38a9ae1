#include "planner/problem/objective.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sailor {
namespace {

constexpr double kBeyondAnyRatio = 1e100;

// If the limit is zero, the ratio to it is not defined. The result is then huge, but still proportional to the excess.
double relative_miss(double value, double limit) {
  if (value <= limit) return 0;
  return limit > 0 ? value / limit - 1 : kBeyondAnyRatio * value;
}

double cost_miss(const MaximizeThroughput& objective, const EstimateSummary& estimate) {
  double miss = 0;
  if (objective.max_cost_per_iteration) {
    miss = relative_miss(estimate.cost.value(), objective.max_cost_per_iteration->value());
  }
  if (objective.max_cost_per_hour) {
    miss = std::max(miss, relative_miss(cost_per_hour(estimate).value(), objective.max_cost_per_hour->value()));
  }
  return miss;
}

double throughput_miss(const MinimizeCost& objective, const EstimateSummary& estimate) {
  if (!objective.min_throughput) return 0;
  return relative_miss(*objective.min_throughput, 1 / estimate.iteration.value());
}

}  // namespace

DollarsPerHour cost_per_hour(const EstimateSummary& estimate) {
  return DollarsPerHour(estimate.cost.value() * 3600 / estimate.iteration.value());
}

Misses misses_of(const EstimateSummary& estimate, int gpus, const JobSpec& job) {
  Misses misses;
  misses.memory = std::max(0.0, estimate.memory_excess / gibibytes(1));
  misses.gpus = relative_miss(job.resources.min_gpus, gpus);
  if (const auto* throughput = std::get_if<MaximizeThroughput>(&job.objective)) {
    misses.cost = cost_miss(*throughput, estimate);
  } else {
    misses.throughput = throughput_miss(std::get<MinimizeCost>(job.objective), estimate);
  }
  return misses;
}

Cutoff cutoff_for(double value, const JobSpec& job) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto above = [](double limit) { return std::nextafter(limit * (1 + 1e-12), kInfinity); };
  Cutoff cutoff;
  if (const auto* throughput = std::get_if<MaximizeThroughput>(&job.objective)) {
    cutoff.iteration = Seconds(value);
    if (throughput->max_cost_per_iteration) cutoff.cost = Dollars(above(throughput->max_cost_per_iteration->value()));
  } else {
    cutoff.cost = Dollars(value);
    const auto& limit = std::get<MinimizeCost>(job.objective).min_throughput;
    if (limit && *limit > 0) cutoff.iteration = Seconds(above(1 / *limit));
  }
  return cutoff;
}

Score score_of(const EstimateSummary& estimate, int gpus, const JobSpec& job) {
  const bool seeks_throughput = std::holds_alternative<MaximizeThroughput>(job.objective);
  return {misses_of(estimate, gpus, job).sum(),
          seeks_throughput ? estimate.useful_iteration().value() : estimate.useful_cost().value(), gpus};
}

}  // namespace sailor
