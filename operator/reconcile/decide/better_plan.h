// The policy that moves a training job to a better plan.
#pragma once

#include <optional>

#include "operator/reconcile/decide/plan_lookup.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a job that trains, if it may change by choice (planner/replan/change_rules.h). Asks the planner again
// after the cool-down, and not within five minutes after a pod was refused. Changes the plan if the objective improves
// by enough to justify a rescale, unless the change is postponed (postponed_change.h), or if the plan misses a limit of
// the objective. A job that trains on for a while may also grow onto nodes that do not exist yet; it asks for them only
// if the existing nodes give no better plan. With elasticity Restart the job restarts with new pods, and uses existing
// nodes only.
std::optional<PolicyResult> change_to_better_plan(const Observation& observation);

struct BetterPlan {
  NodeQuery query;  // the query for the nodes that the plan is for
  PlanLookup lookup;
  // The planner has found a plan that is clearly better than that of the running generation, or one that keeps the
  // limits of the objective, which that one misses.
  bool is_found = false;
};
BetterPlan look_for_better_plan(const Observation& observation, const Generation& running, const NodeQuery& query);

// If existing nodes give none, looks for a plan with new nodes too, unless the job may not ask for such.
BetterPlan look_for_better_plan_with_growth(const Observation& observation, const Generation& running, NodeQuery query);

}  // namespace sailor
