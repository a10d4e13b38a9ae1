// What makes one plan better than another, by the job's objective and limits.
#pragma once

#include <compare>

#include "core/model/job_spec.h"
#include "planner/problem/estimator.h"

namespace sailor {

// Lower is better. A plan with any excess is no answer, but of two such plans one is nearer to being one.
struct Score {
  double excess = 0;  // by how much limits are missed, relative to them
  double value = 0;   // seconds or dollars of an iteration
  int gpus = 0;       // ties go to fewer
  friend auto operator<=>(const Score&, const Score&) = default;

  [[nodiscard]] bool is_feasible() const { return excess <= 0; }
};

Score score_of(const Quote& quote, int gpus, const JobSpec& job);

// A plan that reaches it is no better than a feasible one of this value: it is no faster or cheaper, or it misses a
// limit.
Ceiling ceiling_of(double value, const JobSpec& job);

// By how much each limit is missed, relative to it; zero where it holds or is absent.
struct Misses {
  double memory = 0;      // relative to one GiB, as the GPUs of a plan differ
  double cost = 0;        // maxCostPerIteration or maxCostPerHour, the worse
  double throughput = 0;  // minThroughput
  double gpus = 0;        // minGpus

  [[nodiscard]] double sum() const { return memory + cost + throughput + gpus; }
};

Misses misses_of(const Quote& quote, int gpus, const JobSpec& job);

DollarsPerHour cost_per_hour(const Quote& quote);

}  // namespace sailor
