// Functions about the start of a job that has no GPUs.
#pragma once

#include <optional>

#include "operator/reconcile/decide/plan_lookup.h"
#include "operator/reconcile/decide/policy.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor {

// Returns a result that says in the condition Planned what comes first: the job's queue has yet to give it GPUs
// (await_quota), or another job is planned before it (Competition::find_turn_before).
std::optional<PolicyResult> await_turn(const Observation& observation);

struct StartingPlan {
  NodeQuery query;  // the query for the nodes that the plan is for
  PlanLookup lookup;
};

// Looks up a plan for the nodes of `query`, or for those by which declared pools can grow. A job may also take GPUs
// that jobs of lower priority have beyond their minGpus, if its plan is then clearly better; and all GPUs of such jobs,
// if it cannot start otherwise.
StartingPlan look_up_starting_plan(const Observation& observation, const NodeQuery& query);

// Returns a result that asks the planner what is still to be asked, and says in the condition Planned why the job does
// not start. The reason is kWaitingForCapacity if fewer GPUs than minGpus are free, or if the job could start with the
// GPUs that other jobs have now.
PolicyResult await_start(const Observation& observation, const StartingPlan& start);

}  // namespace sailor
