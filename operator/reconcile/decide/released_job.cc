#include "operator/reconcile/decide/released_job.h"

#include <fmt/format.h>

#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/placement.h"
#include "operator/reconcile/decide/saving.h"
#include "operator/reconcile/decide/starting_plan.h"

namespace sailor {
namespace {

PolicyResult keep_saving(const Observation& observation, const GenerationRecord& record) {
  PolicyResult result = retry_save(observation, record);
  const GenerationRecord& newest = result.record ? *result.record : record;
  result.conditions[ConditionType::kPlanned] = no(newest.reason, release_message(observation, newest));
  requeue(result, kSaveLimit);
  return result;
}

// With elasticity Off, starts the same plan once GPUs of the same pools are available.
PolicyResult start_same_plan(const Observation& observation, const GenerationRecord& record, const NodeQuery& query) {
  const auto nodes = usable_nodes(observation, query);
  auto placement = place({observation.job.key.name, record.plan, nodes, *observation.cluster, pod_names(observation)});
  if (!placement) {
    PolicyResult result;
    result.conditions[ConditionType::kPlanned] =
        no(Reason::kWaitingForCapacity,
           fmt::format("{}; elasticity Off keeps the first plan and waits for its GPUs: {}. {}", record.message,
                       gpus_text(record.plan), saving_message(observation, record)));
    return result;
  }
  const Reason reason = pauses_job(record) ? Reason::kResumed : record.reason;
  GenerationRecord next = next_generation(observation, record, {reason, record.message});
  if (query.replaces_pods) next.min_pod_generation = next.generation;
  next.placement = std::move(*placement);
  return begin_generation(observation, std::move(next));
}

PolicyResult start_new_plan(const Observation& observation, const GenerationRecord& record, const NodeQuery& query) {
  const StartingPlan start = look_up_starting_plan(observation, query);
  if (start.lookup.has_plan()) {
    const PlanAnswer& answer = *start.lookup.answer;
    const bool resumes = pauses_job(record);
    const Cause cause =
        resumes ? Cause{Reason::kResumed, fmt::format("It starts again: {}.", gpus_text(answer.result->plan))}
                : Cause{record.reason, record.message};
    return adopt_plan(observation, record, answer, start.query, cause);
  }
  PolicyResult result = await_start(observation, start);
  Condition& planned = result.conditions[ConditionType::kPlanned];
  if (planned.reason != Reason::kPlanning) {
    planned.message +=
        fmt::format("{} {}", planned.message.ends_with('.') ? "" : ".", saving_message(observation, record));
  }
  return result;
}

}  // namespace

std::optional<PolicyResult> resume_released_job(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  if (!record.releases_gpus) return std::nullopt;
  if (is_saving(observation, record)) return keep_saving(observation, record);
  const NodeQuery query{NodeScope::kExisting, {}, !has_failed_to_save(observation, record)};
  const bool keeps_plan = observation.job.spec->elasticity == ElasticityMode::kOff;
  const auto turn = await_turn(observation);
  PolicyResult result = turn         ? *turn
                        : keeps_plan ? start_same_plan(observation, record, query)
                                     : start_new_plan(observation, record, query);
  if (!result.record) merge(result, retry_save(observation, record));
  return result;
}

}  // namespace sailor
