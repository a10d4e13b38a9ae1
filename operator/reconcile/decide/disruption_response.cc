#include "operator/reconcile/decide/disruption_response.h"

#include <fmt/format.h>

#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/reconcile/decide/saving.h"
#include "operator/reconcile/decide/yielding.h"
#include "planner/replan/change_rules.h"

namespace sailor {
namespace {

PolicyResult continue_with_remaining_pods(const Observation& observation, const GenerationRecord& before,
                                          const Disruption& disruption) {
  const auto [query, lookup] = look_up_remaining_plan(observation, disruption.pods, before.plan);
  if (lookup.has_plan()) {
    return adopt_plan(observation, before, *lookup.answer, query, {disruption.reason, disruption.message});
  }
  if (!lookup.has_no_plan()) {
    PolicyResult result = ask_planner(lookup);
    result.keeps_ended_pods = true;
    return result;
  }
  // State that cannot be saved stays in the memory of the pods, which then wait with their GPUs until a job of higher
  // priority takes them.
  PolicyResult result;
  if (can_save(observation) || !may_hold_state(observation)) {
    const std::string message = fmt::format("{}, and {}", disruption.message, lookup.answer->result.error().message);
    result = save_and_release_gpus(observation, before, {Reason::kWaitingForCapacity, message});
  } else if (const Rival* claimant = find_claimant(observation, before)) {
    result = yield_all_gpus(observation, before, *claimant);
  }
  result.conditions[ConditionType::kPlanned] = no_plan(observation, *lookup.answer);
  return result;
}

}  // namespace

std::optional<PolicyResult> respond_to_disruption(const Observation& observation) {
  const auto disruption = find_disruption(observation, observation.record.value());
  if (!disruption) return std::nullopt;
  GenerationRecord before = observation.record.value();
  quarantine(before, disruption->nodes_to_quarantine);
  before.unreachable_pods.insert(disruption->unreachable_pods.begin(), disruption->unreachable_pods.end());
  const Cause cause{disruption->reason, disruption->message};
  if (disruption->kind == Disruption::Kind::kConnectionLost) {
    return begin_generation(observation, next_generation(observation, before, cause));
  }
  const ElasticityMode mode = observation.job.spec->elasticity;
  if (releases_gpus_after_loss(mode, /*has_plan=*/true)) {
    return save_and_release_gpus(observation, before, cause);
  }
  return continue_with_remaining_pods(observation, before, *disruption);
}

}  // namespace sailor
