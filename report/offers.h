// Offers: the plans that a search weighed, the chosen one among them, and why each of the others lost.
#pragma once

#include <string>
#include <vector>

#include "planner/planner.h"

namespace sailor::report {

struct Offer {
  Plan plan;
  Estimate estimate;
  bool is_chosen = false;
  std::string why_not;  // empty of the chosen one
};

// Fastest first. `options` are those that were planned with.
std::vector<Offer> offers(const JobSpec& job, const PlannedJob& planned, const PlanOptions& options);

// The objective and its limits: "the most iterations per second for at most $1.20 an iteration".
std::string objective_text(const Objective& objective);

}  // namespace sailor::report
