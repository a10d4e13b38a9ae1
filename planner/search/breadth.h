// Breadth: how much the search does for plans of other tensor-parallel sizes, with another number of stages, or on
// other pools than the best plan so far. Local search rarely gets from large groups to many small ones, or from one set
// of pools to another.
#pragma once

#include <cstddef>

#include "planner/problem/planning_problem.h"

namespace sailor {

inline constexpr int kFewGpus = 12;  // a problem with at most this many GPUs is small enough for the exhaustive search
inline constexpr int kGpusOfWide = 128;     // with more, a wide search takes a second
inline constexpr int kGpusOfRates = 2'048;  // with more, searches by price take a minute

struct Breadth {
  double start_slack = 1;           // a start may be slower than the best plan by this factor
  std::size_t climbs_of_sizes = 1;  // the number of starts of these sizes
  std::size_t climbs_of_pools = 0;  // the number of starts of these pools; 0: pools are not told apart
  bool searches_rates = false;      // whether prices per hour are searched, see rate_search.h
  // The best plan of other sizes, or of another number of stages, is refined if it is slower by this factor at most.
  double slack_of_sizes = 1;
  double slack_of_stages = 1;

  [[nodiscard]] double slack(bool has_new_sizes) const { return has_new_sizes ? slack_of_sizes : slack_of_stages; }

  static Breadth of(const PlanningProblem& problem) {
    const bool searches_rates = problem.most_gpus() > kFewGpus && problem.most_gpus() <= kGpusOfRates;
    if (problem.most_gpus() > kGpusOfWide) {
      return {.start_slack = 1.25, .climbs_of_sizes = 0, .searches_rates = searches_rates};
    }
    return {.start_slack = 1.4,
            .climbs_of_sizes = 3,
            .searches_rates = searches_rates,
            .slack_of_sizes = 1.1,
            .slack_of_stages = 1.04};
  }
};

}  // namespace sailor
