#include "operator/reconcile/decide/partial_start.h"

#include <vector>

#include <fmt/format.h>

#include "operator/reconcile/decide/new_nodes.h"
#include "operator/reconcile/decide/next_generation.h"

namespace sailor {

std::optional<PolicyResult> start_on_nodes_that_came(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  const bool is_starting = !record.running && !record.is_committed() && !record.releases_gpus;
  if (!is_starting || observation.job.spec->elasticity != ElasticityMode::kLive) return std::nullopt;
  const std::vector<NodeWait> waits = find_node_waits(observation, record.placement);
  const auto late_at = others_are_late_at(observation, record);
  if (waits.empty() || !late_at || observation.now < *late_at) return std::nullopt;
  const NodeQuery query{NodeScope::kExisting};
  const PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), std::nullopt);
  if (lookup.has_no_plan()) return std::nullopt;
  if (!lookup.has_plan()) return ask_planner(lookup);
  const Cause cause{Reason::kPodNotStarted,
                    fmt::format("{} No further node has come for a while.", text_of(observation, waits.front()))};
  return adopt_plan(observation, record, *lookup.answer, query, cause);
}

}  // namespace sailor
