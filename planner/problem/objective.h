// What makes one plan better than another: the job's objective and its limits.
#pragma once

#include <compare>

#include "core/model/job_spec.h"
#include "planner/problem/estimator.h"

namespace sailor {

// Lower is better. A plan with any excess is infeasible, but of two such plans the one with less excess comes nearer to
// being feasible.
struct Score {
  double excess = 0;  // the sum of Misses
  double value = 0;   // of an iteration: seconds if the job maximizes throughput, dollars if it minimizes cost
  int gpus = 0;       // ties go to fewer
  friend auto operator<=>(const Score&, const Score&) = default;

  [[nodiscard]] bool is_feasible() const { return excess <= 0; }
};

Score score_of(const EstimateSummary& estimate, int gpus, const JobSpec& job);

// The cutoff of a search that knows a feasible plan of this value. A plan that reaches it is not better than that plan:
// it is not faster (or not cheaper), or it misses a limit.
Cutoff cutoff_for(double value, const JobSpec& job);

// By how much a plan misses each limit, relative to the limit. Zero where the limit holds or is absent.
struct Misses {
  double memory = 0;      // in GiB, because the memory of a plan's GPUs differs
  double cost = 0;        // maxCostPerIteration or maxCostPerHour, the worse of both
  double throughput = 0;  // minThroughput
  double gpus = 0;        // minGpus

  [[nodiscard]] double sum() const { return memory + cost + throughput + gpus; }
};

Misses misses_of(const EstimateSummary& estimate, int gpus, const JobSpec& job);

DollarsPerHour cost_per_hour(const EstimateSummary& estimate);

}  // namespace sailor
