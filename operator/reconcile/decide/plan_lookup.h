// Looks up plans for the nodes that a job may use. The planner answers asynchronously. A policy either finds the answer
// in the observation, or it returns ask_planner() and decides once a later observation contains the answer.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/reconcile/decide/policy.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor {

struct PlanLookup {
  const PlanAnswer* answer = nullptr;    // null: the planner has not answered yet
  std::optional<PlanQuestion> question;  // the question to ask if there is no answer

  [[nodiscard]] bool has_plan() const { return answer != nullptr && answer->result.has_value(); }
  [[nodiscard]] bool has_no_plan() const { return answer != nullptr && !answer->result.has_value(); }
};

// Whether the job trains while it waits for the plan. A stopped job needs a plan quickly, so the planner then searches
// only near `current`.
enum class Urgency { kTrains, kStopped };

// Looks up a plan for these nodes. `current` is the plan that the job trains by, if any. A plan for a cluster that has
// changed while the planner searched counts too if it still fits; once the job trains, it looks for a better one.
PlanLookup look_up_plan(const Observation& observation, const std::vector<UsableNode>& nodes,
                        const std::optional<Plan>& current, Urgency urgency = Urgency::kTrains);

// Looks up a plan for a job that trains, to compare with the plan of `running`, as its GPUs are now.
PlanLookup look_up_better_plan(const Observation& observation, const Generation& running, const NodeQuery& query);

// Looks up a plan for the nodes of `query`. If no plan fits them, looks up one that may also use the nodes by which
// declared pools can grow.
PlanLookup look_up_plan_with_growth(const Observation& observation, const NodeQuery& query,
                                    const std::optional<Plan>& current);

struct RemainingPlan {
  NodeQuery query;  // the query for the nodes that the plan is for
  PlanLookup lookup;
};

// Looks up a plan for the pods that answer, without `lost_pods`, or for all nodes if no plan fits these pods. If
// `current` is given, the planner searches for the plan of the pods only near it.
RemainingPlan look_up_remaining_plan(const Observation& observation, const std::set<std::string>& lost_pods,
                                     const std::optional<Plan>& current);

// Returns a result that asks the planner the question of `lookup`, if it has one.
PolicyResult ask_planner(const PlanLookup& lookup);

// Returns the condition Planned of a job for which the planner has not answered yet.
Condition planning();

// Returns the condition Planned with the reason why there is no plan, and with the free GPUs that the job cannot use.
// The message does not end with a full stop.
Condition no_plan(const Observation& observation, const Error& error, const ClusterState& cluster);
Condition no_plan(const Observation& observation, const PlanAnswer& answer);

// "2 in us-central1-a/nvidia-l4/spot, 4 in ..."
std::string gpus_text(const Plan& plan);

}  // namespace sailor
