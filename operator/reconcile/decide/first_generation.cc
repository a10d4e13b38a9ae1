#include "operator/reconcile/decide/first_generation.h"

#include <fmt/format.h>

#include "operator/reconcile/decide/next_generation.h"

namespace sailor {

std::optional<PolicyResult> start_first_generation(const Observation& observation) {
  if (observation.record) return std::nullopt;
  const NodeQuery query{NodeScope::kExisting, {}, false};
  const PlanLookup lookup = look_up_plan_with_growth(observation, query, std::nullopt);
  if (lookup.has_plan()) {
    const Cause cause{Reason::kStarted, fmt::format("The first plan: {}.", gpus_text(lookup.answer->result->plan))};
    return adopt_plan(observation, std::nullopt, *lookup.answer, query, cause);
  }
  PolicyResult result = ask_planner(lookup);
  result.conditions[ConditionType::kPlanned] = lookup.has_no_plan()
                                                   ? no_plan(observation, *lookup.answer)
                                                   : no(Reason::kPlanning, "The planner is looking for the best plan.");
  return result;
}

}  // namespace sailor
