#include "operator/reconcile/decide/next_generation.h"

#include <algorithm>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/job_outlook.h"
#include "operator/reconcile/decide/placement.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/reconcile/decide/quota.h"
#include "operator/reconcile/decide/trainer_failures.h"

namespace sailor {
namespace {

constexpr std::size_t kAlternativePlans = 6;  // as many as people compare

OlderRecord older_of(const Generation& generation) {
  OlderRecord older{generation.generation, generation.is_leased, false, generation.members};
  std::erase_if(older.members, [](const Member& member) { return member.leaves; });
  return older;
}

struct PlacedPlan {
  Result<Placement> placement;
  NodeQuery query;  // the query for the nodes that the plan was made for
};

PlacedPlan place_plan(const Observation& observation, const PlanAnswer& answer, NodeQuery query) {
  const auto is_what_was_asked_for = [&](const std::vector<UsableNode>& nodes) {
    return cluster_of(nodes, *observation.cluster) == answer.question.cluster;
  };
  std::vector<UsableNode> nodes = usable_nodes(observation, query);
  if (!is_what_was_asked_for(nodes) && !is_what_was_asked_for(trimmed_to_quota(observation, nodes))) {
    query.scope = NodeScope::kGrowable;
    nodes = usable_nodes(observation, query);
  }
  if (!is_what_was_asked_for(nodes)) nodes = trimmed_to_quota(observation, std::move(nodes));
  const Plan& plan = answer.result->plan;
  return {place({observation.job.key.name, plan, nodes, *observation.cluster, pod_names(observation)}), query};
}

// Returns at most kAlternativePlans alternatives: the fastest and the cheapest, and others that are spread between
// them.
std::vector<AlternativePlan> alternative_plans(const PlannedJob& planned) {
  std::vector<AlternativePlan> all;
  for (const EstimatedPlan& other : planned.alternatives) {
    const Estimate& estimate = other.estimate;
    if (other.plan != planned.plan)
      all.push_back({estimate.iteration.value(), estimate.cost_per_iteration().value(), gpu_count(other.plan)});
  }
  if (all.size() <= kAlternativePlans) return all;
  std::vector<AlternativePlan> spread;
  spread.reserve(kAlternativePlans);
  for (std::size_t i = 0; i < kAlternativePlans; ++i)
    spread.push_back(all[i * (all.size() - 1) / (kAlternativePlans - 1)]);
  return spread;
}

// Like next_generation(), for a plan of the present spec. If the job trains and the change is voluntary, the present
// generation trains on meanwhile.
GenerationRecord next_of_present_spec(const Observation& observation, const std::optional<GenerationRecord>& before,
                                      const Cause& cause) {
  GenerationRecord next = next_generation(observation, before, cause);
  next.spec_generation = observation.job.spec_generation;
  const bool is_training = before && trains(observation, *before);
  if (is_training && is_voluntary(cause.reason)) next.running = static_cast<const Generation&>(*before);
  return next;
}

// Returns how many GPUs the job has had. The record that replaces a lost one has no plan.
int gpus_before(const Observation& observation, const GenerationRecord& before) {
  if (before.releases_gpus) return 0;
  const auto& shown = observation.job.status.plan;
  return before.plan.stages.empty() && shown ? shown->total_gpus : gpu_count(before.in_use().plan);
}

}  // namespace

std::set<std::string> pod_names(const Observation& observation) {
  std::set<std::string> names;
  for (const PodView& pod : observation.pods) names.insert(pod.name);
  return names;
}

GenerationRecord next_generation(const Observation& observation, const std::optional<GenerationRecord>& before,
                                 const Cause& cause) {
  GenerationRecord next = before.value_or(GenerationRecord{});
  // A release that is the first half of a restart belongs to the same change, so the cause stays.
  const bool continues_restart = next.releases_gpus && !pauses_job(next);
  next.job_uid = observation.job.uid;
  next.settings = run_settings_of(observation.job.spec.value());
  if (!continues_restart) {
    next.from_generation = next.in_use().generation;
    next.from_gpus = before ? gpus_before(observation, *before) : 0;
    next.caused_at = before ? first_sign(observation, *before) : observation.now;
    next.leave_by = before ? first_end(observation, *before, next.caused_at) : next.caused_at;
  }
  if (next.is_committed() && !next.releases_gpus) next.older.push_back(older_of(next));
  next.last_issued = std::max(next.last_issued, next.generation) + 1;
  next.generation = next.last_issued;
  next.members.clear();
  next.is_leased = false;
  next.running.reset();
  next.rendezvous = 0;
  next.releases_gpus = false;
  next.reason = cause.reason;
  next.message = cause.message;
  next.asked_at = observation.now;
  next.decided_at = observation.now;
  next.committed_at = Time();
  next.unresponsive_at_step = std::max(next.unresponsive_at_step, furthest_unresponsive_step(observation));
  std::erase_if(next.pool_refusals,
                [&](const PoolRefusal& refusal) { return !refusal.is_remembered(observation.now); });
  next.quarantined_nodes = without_expired(next.quarantined_nodes, observation);
  return next;
}

PolicyResult begin_generation(const Observation& observation, GenerationRecord next) {
  // A pod that has a slot again takes part like any other pod, so it no longer counts as unreachable.
  std::erase_if(next.unreachable_pods, [&](const std::string& uid) {
    const auto pod = std::ranges::find(observation.pods, uid, &PodView::uid);
    const auto& slots = next.placement.slots;
    return pod == observation.pods.end() || std::ranges::find(slots, pod->name, &Slot::pod) != slots.end();
  });
  PolicyResult result;
  write_record(result, std::move(next));
  return result;
}

PolicyResult adopt_plan(const Observation& observation, const std::optional<GenerationRecord>& before,
                        const PlanAnswer& answer, const NodeQuery& query, const Cause& cause) {
  const PlannedJob& planned = *answer.result;
  PlacedPlan placed = place_plan(observation, answer, query);
  if (!placed.placement) {
    PolicyResult result;
    result.conditions[ConditionType::kPlanned] =
        no_plan(observation, placed.placement.error(), answer.question.cluster);
    return result;
  }
  GenerationRecord next = next_of_present_spec(observation, before, cause);
  // An answer that is older than the cause cost no time to plan.
  if (answer.asked_at >= next.caused_at) next.asked_at = answer.asked_at;
  if (before && before->releases_gpus && placed.query.replaces_pods) next.min_pod_generation = next.generation;
  next.plan = planned.plan;
  next.schedule_times = planned.schedule_times;
  next.summary = summary_of(planned.estimate, planned.bound_throughput > 0 ? planned.bound_ratio() : 0);
  if (const auto outlook = JobOutlook::of(observation)) {
    const double expected = outlook->failures_per_hour(gpus_by_pool(next.plan));
    next.summary.failures_per_hour = std::max(next.summary.failures_per_hour, expected);
  }
  next.summary.alternatives = alternative_plans(planned);
  next.forgone = {};
  next.placement = std::move(*placed.placement);
  return begin_generation(observation, std::move(next));
}

PolicyResult keep_plan_in_new_generation(const Observation& observation, const GenerationRecord& before,
                                         const Cause& cause) {
  return begin_generation(observation, next_of_present_spec(observation, before, cause));
}

PolicyResult save_and_release_gpus(const Observation& observation, const GenerationRecord& before, const Cause& cause) {
  GenerationRecord next = next_generation(observation, before, cause);
  next.releases_gpus = true;
  next.placement = {};
  return begin_generation(observation, std::move(next));
}

}  // namespace sailor
