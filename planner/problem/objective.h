// The order of plans: the job's objective and its limits decide which of two plans is better.
#pragma once

#include <compare>

#include "core/model/job_spec.h"
#include "planner/problem/estimator.h"

namespace sailor {

// Orders plans; lower is better. The fields are compared in the order of their declaration. A plan with any excess is
// infeasible. Of two infeasible plans, the one with less excess comes nearer to being feasible.
struct Score {
  double excess = 0;  // the sum of the misses (Misses::sum())
  // The seconds of an iteration if the job maximizes throughput, its dollars if it minimizes cost. Both include the
  // expected loss (EstimateSummary::useful_iteration(), useful_cost()).
  double value = 0;
  int gpus = 0;  // the number of GPUs, which breaks ties
  friend auto operator<=>(const Score&, const Score&) = default;

  [[nodiscard]] bool is_feasible() const { return excess <= 0; }
};

Score score_of(const EstimateSummary& estimate, int gpus, const JobSpec& job);

// Returns the cutoff of a search that knows a feasible plan of this value. A plan that reaches the cutoff is not better
// than the known plan: it is not faster (or not cheaper), or it misses maxCostPerIteration or minThroughput. The cutoff
// does not cover the other limits.
Cutoff cutoff_for(double value, const JobSpec& job);

// By how much a plan misses each limit. A miss is relative to the limit, except for memory. It is zero if the plan
// meets the limit or the job does not set it.
struct Misses {
  double memory = 0;      // GiB; the plan's GPUs may have different sizes, so a ratio would not be comparable
  double cost = 0;        // the larger miss of maxCostPerIteration and maxCostPerHour
  double throughput = 0;  // the miss of minThroughput
  double gpus = 0;        // the miss of minGpus

  [[nodiscard]] double sum() const { return memory + cost + throughput + gpus; }
};

Misses misses_of(const EstimateSummary& estimate, int gpus, const JobSpec& job);

DollarsPerHour cost_per_hour(const EstimateSummary& estimate);

}  // namespace sailor
