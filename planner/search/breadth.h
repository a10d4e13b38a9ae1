// Breadth: how much the search does for plans of other tensor-parallel sizes than that of the best plan so far. Local
// search rarely gets from large groups to many small ones.
#pragma once

#include <cstddef>

#include "planner/problem/planning_problem.h"

namespace sailor {

struct Breadth {
  double start_slack = 1;           // a start may be slower than the best plan by this factor
  std::size_t climbs_of_sizes = 1;  // the number of starts of these sizes
  double refined_slack = 1;         // the best plan of other sizes is refined if it is slower by this factor at most

  static Breadth of(const PlanningProblem& problem) {
    constexpr int kGpusOfWide = 128;  // with more, a wide search takes a second
    if (problem.most_gpus() <= kGpusOfWide) return {.start_slack = 1.4, .climbs_of_sizes = 3, .refined_slack = 1.1};
    return {.start_slack = 1.25, .climbs_of_sizes = 0, .refined_slack = 1};
  }
};

}  // namespace sailor
