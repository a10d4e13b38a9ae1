// Goal: what makes one plan better than another: the figure to minimize, the limits that plans must keep, and the
// figure that breaks ties. A search has two goals, one after the other. The first is the objective of the job. Once it
// has found the best plan, its second goal is the best other figure among the plans that are as good by the first.
#pragma once

#include <compare>
#include <limits>

#include "core/model/job_spec.h"
#include "planner/problem/estimator.h"

namespace sailor {

// Orders plans; lower is better. The fields are compared in the order of their declaration. A plan with any excess is
// infeasible. Of two infeasible plans, the one with less excess comes nearer to being feasible.
struct Score {
  double excess = 0;       // the sum of the misses (Misses::sum())
  double value = 0;        // the figure that the goal minimizes; it includes the expected loss
  double other_value = 0;  // the other figure, which breaks ties
  int gpus = 0;            // the number of GPUs, which breaks the ties that are left
  friend auto operator<=>(const Score&, const Score&) = default;

  [[nodiscard]] bool is_feasible() const { return excess <= 0; }
};

// By how much a plan misses each limit. A miss is relative to the limit, except for memory. It is zero if the plan
// meets the limit or the goal does not set it.
struct Misses {
  double memory = 0;      // GiB; the plan's GPUs may have different sizes, so a ratio would not be comparable
  double cost = 0;        // the largest miss of the limits on cost
  double throughput = 0;  // the larger miss of the limits on time
  double gpus = 0;        // the miss of minGpus

  [[nodiscard]] double sum() const { return memory + cost + throughput + gpus; }
};

struct Goal {
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  // The figure to minimize: the seconds or the dollars of an iteration that is not lost
  // (EstimateSummary::useful_iteration(), useful_cost()).
  enum class Figure { kTime, kCost };
  Figure figure = Figure::kTime;
  // Limits of an iteration.
  Seconds longest{kUnlimited};
  Seconds longest_useful{kUnlimited};
  Dollars most_cost{kUnlimited};
  Dollars most_useful_cost{kUnlimited};
  DollarsPerHour most_cost_per_hour{kUnlimited};
  int fewest_gpus = 1;

  // The objective and the limits of the job.
  static Goal of(const JobSpec& job);
  // The goal of a search among the plans that are as good as `best`, which this goal has found: the best other figure.
  // * A plan is as fast as the fastest if its iteration is not longer and if at most one percent more is expected to be
  //   lost: it may run on nodes that cost less and fail more often.
  // * A plan is as cheap as the cheapest if it costs at most one percent more.
  [[nodiscard]] Goal among_equals_of(const EstimateSummary& best) const;

  // Whether there is a limit on the time or the cost of an iteration.
  [[nodiscard]] bool limits_iteration() const;
  // The same with these limits multiplied by the factor.
  [[nodiscard]] Goal loosened(double factor) const;
  [[nodiscard]] Goal without_limits_of_iteration() const;

  [[nodiscard]] double value_of(const EstimateSummary& estimate) const;
  [[nodiscard]] Misses misses_of(const EstimateSummary& estimate, int gpus) const;
  [[nodiscard]] Score score_of(const EstimateSummary& estimate, int gpus) const;

  // Returns the cutoff of a search that knows a feasible plan of this value. A plan that reaches the cutoff is not
  // better than the known plan: its value is not lower, or it misses a limit on the time or cost of an iteration. The
  // cutoff does not cover the other limits.
  [[nodiscard]] Cutoff cutoff_for(double value) const;
};

}  // namespace sailor
