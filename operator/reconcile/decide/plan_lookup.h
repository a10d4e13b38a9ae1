// Plans for the nodes that a job may use. The planner answers in its own time: a policy either finds its answer in the
// observation, or asks and decides when the answer is there.
#pragma once

#include <optional>
#include <vector>

#include "operator/reconcile/decide/policy.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor {

struct PlanLookup {
  const PlanAnswer* answer = nullptr;    // null: it is not there yet
  std::optional<PlanQuestion> question;  // what the planner is to be asked then

  [[nodiscard]] bool has_plan() const { return answer != nullptr && answer->result.has_value(); }
  [[nodiscard]] bool has_no_plan() const { return answer != nullptr && !answer->result.has_value(); }
};

enum class Urgency { kTrains, kStopped };  // whether the job trains while it waits for the plan

PlanLookup look_up_plan(const Observation& observation, const std::vector<UsableNode>& nodes,
                        const std::optional<Plan>& current, Urgency urgency = Urgency::kTrains);

// A plan for the nodes that exist. Only if there is none, a plan that also uses nodes by which pools may be scaled up.
PlanLookup look_up_plan_with_growth(const Observation& observation, const NodeQuery& query,
                                    const std::optional<Plan>& current);

// Asks the planner what `lookup` has no answer to.
PolicyResult ask_planner(const PlanLookup& lookup);

// Why there is no plan.
Condition no_plan(const Observation& observation, const Error& error, const ClusterState& cluster);
Condition no_plan(const Observation& observation, const PlanAnswer& answer);

// "2 in us-central1-a/nvidia-l4/spot, 4 in ..."
std::string gpus_text(const Plan& plan);

}  // namespace sailor
