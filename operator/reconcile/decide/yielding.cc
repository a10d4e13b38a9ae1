#include "operator/reconcile/decide/yielding.h"

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/saving.h"
#include "planner/replan/change_rules.h"

namespace sailor {
namespace {

PolicyResult release_all(const Observation& observation, const GenerationRecord& record, const Cause& cause) {
  const bool saves = can_save(observation);
  PolicyResult result = save_and_release_gpus(observation, record, cause);
  if (!saves) remove_running_pods(result, observation);
  return result;
}

std::string text_of(const Rival& claimant) {
  return fmt::format("Job {} of priority {} takes GPUs of this job.", to_string(claimant.rank.key),
                     claimant.rank.priority);
}

}  // namespace

PolicyResult give_up_gpus(const Observation& observation, const GenerationRecord& record, const Cause& cause,
                          const Cause& why_paused) {
  const ElasticityMode mode = observation.job.spec->elasticity;
  if (releases_gpus_after_loss(mode, /*has_plan=*/true)) return release_all(observation, record, cause);
  for (const NodeScope scope : {NodeScope::kSurvivors, NodeScope::kExisting}) {
    const NodeQuery query{scope};
    const PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), record.plan);
    if (lookup.has_plan()) return adopt_plan(observation, record, *lookup.answer, query, cause);
    if (!lookup.has_no_plan()) return ask_planner(lookup);
  }
  return release_all(observation, record, why_paused);
}

PolicyResult yield_all_gpus(const Observation& observation, const GenerationRecord& record, const Rival& claimant) {
  return release_all(observation, record, {Reason::kWaitingForCapacity, text_of(claimant)});
}

const Rival* find_claimant(const Observation& observation, const Generation& generation) {
  const Competition competition(observation);
  for (const Slot& slot : generation.placement.slots) {
    const NodeView* node = observation.cluster->find_node(slot.node);
    if (node == nullptr) continue;
    if (const Rival* claimant = competition.find_claimant(*node)) return claimant;
  }
  return nullptr;
}

std::optional<PolicyResult> yield_gpus(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  const Rival* claimant = find_claimant(observation, record);
  if (claimant == nullptr || (record.is_committed() && !trains(observation, record))) return std::nullopt;
  const std::string text = text_of(*claimant);
  return give_up_gpus(observation, record, {Reason::kPreempted, text}, {Reason::kWaitingForCapacity, text});
}

}  // namespace sailor
