#include "operator/reconcile/decide/policy.h"

#include <algorithm>
#include <iterator>

namespace sailor {

void merge(PolicyResult& result, PolicyResult more) {
  if (more.record) result.record = std::move(more.record);
  std::ranges::move(more.actions, std::back_inserter(result.actions));
  std::ranges::move(more.events, std::back_inserter(result.events));
  for (auto& [type, condition] : more.conditions) result.conditions[type] = std::move(condition);
  if (more.requeue_after) requeue(result, *more.requeue_after);
  result.is_final = result.is_final || more.is_final;
  result.keeps_ended_pods = result.keeps_ended_pods || more.keeps_ended_pods;
  result.awaits_planner = result.awaits_planner || more.awaits_planner;
}

void write_record(PolicyResult& result, GenerationRecord record) {
  result.actions.emplace_back(WriteRecord{record});
  result.record = std::move(record);
}

void requeue(PolicyResult& result, std::chrono::milliseconds delay) {
  result.requeue_after = std::min(result.requeue_after.value_or(delay), delay);
}

void set_conditions(PolicyResult& result, std::initializer_list<ConditionType> types, const Condition& condition) {
  for (const ConditionType type : types) result.conditions[type] = condition;
}

void remove_pod(PolicyResult& result, const PodView& pod) {
  if (!pod.is_deleting) result.actions.emplace_back(DeletePod{pod.name, pod.uid});
}

void remove_running_pods(PolicyResult& result, const Observation& observation) {
  for (const PodView& pod : observation.pods) {
    if (pod.is_ours && !pod.has_ended()) remove_pod(result, pod);
  }
}

std::chrono::milliseconds time_until(Time now, Time then) { return std::max(then - now, std::chrono::milliseconds(1)); }

}  // namespace sailor
