#include "operator/reconcile/decide/first_generation.h"

#include <fmt/format.h>

#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/starting_plan.h"

namespace sailor {

std::optional<PolicyResult> start_first_generation(const Observation& observation) {
  if (observation.record) return std::nullopt;
  if (auto turn = await_turn(observation)) return turn;
  const StartingPlan start = look_up_starting_plan(observation, {NodeScope::kExisting});
  if (!start.lookup.has_plan()) return await_start(observation, start);
  const PlanAnswer& answer = *start.lookup.answer;
  const Cause cause{Reason::kStarted, fmt::format("The first plan: {}.", gpus_text(answer.result->plan))};
  return adopt_plan(observation, std::nullopt, answer, start.query, cause);
}

}  // namespace sailor
