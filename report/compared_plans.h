// The chosen plan, the best other plans of a search, and the reason why each of them was not chosen.
#pragma once

#include <string>
#include <vector>

#include "planner/planner.h"

namespace sailor::report {

struct ComparedPlan {
  Plan plan;
  Estimate estimate;
  bool is_chosen = false;
  std::string reason;  // why it was not chosen; empty for the chosen plan
};

// The fastest plan first. `options` are those of the search.
std::vector<ComparedPlan> compared_plans(const JobSpec& job, const PlannedJob& planned, const PlanOptions& options);

// The limit of the objective that the estimate exceeds: "$1.30 per iteration, over the limit of $1.20". Empty if it
// keeps all of them.
std::string broken_limit(const Objective& objective, const Estimate& estimate);

// The objective with its limits: "the most iterations per second for at most $1.20 per iteration".
std::string objective_text(const Objective& objective);

}  // namespace sailor::report
