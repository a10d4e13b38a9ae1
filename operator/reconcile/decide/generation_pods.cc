#include "operator/reconcile/decide/generation_pods.h"

#include <algorithm>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/saving.h"
#include "operator/reconcile/decide/slow_gpus.h"
#include "operator/reconcile/decide/trainer_failures.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

bool has_slot(const GenerationRecord& record, const PodView& pod) {
  const auto& slots = record.placement.slots;
  return std::ranges::find(slots, pod.name, &Slot::pod) != slots.end();
}

// Returns whether the agent has reported that no peer needs the state of its workers any more.
bool is_released(const Observation& observation, const GenerationRecord& record, const PodView& pod) {
  const AgentView* agent = find_agent(observation, pod);
  if (agent == nullptr || !agent->report || agent->report->workers.empty()) return false;
  return std::ranges::all_of(agent->report->workers, [&](const WorkerReport& worker) {
    return worker.phase == WorkerPhase::kReleased && worker.generation >= record.generation;
  });
}

}  // namespace

void create_missing_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record) {
  if (observation.now < record.not_before) {
    requeue(result, record.not_before - observation.now);
    return;
  }
  if (const auto& refusal = observation.refusal;
      refusal && refusal->holds(observation.now, observation.job.spec_generation)) {
    requeue(result, time_until(observation.now, refusal->retry_at));
    return;
  }
  const Competition competition(observation);
  for (const Slot& slot : record.placement.slots) {
    const bool is_starting_or_ending = find_pod(observation, slot.pod) != nullptr;
    if (is_starting_or_ending || is_occupied(observation, record, slot)) continue;
    const NodeView* node = observation.cluster->find_node(slot.node);
    const bool can_go_there = node != nullptr && node->uid == slot.node_uid && !node->is_terminating;
    if (!slot.node.empty() && !can_go_there) continue;
    if (competition.find_holder(slot) != nullptr) continue;
    result.actions.emplace_back(CreatePod{render_pod(observation.job, slot, record.generation, observation.settings,
                                                     observation.cluster->new_node(slot.pool))});
  }
}

void remove_ended_and_stale_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record,
                                 bool keeps_ended_pods) {
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours || (!pod.has_ended() && !is_stale(record, pod))) continue;
    const Member* member = member_of(record, pod.uid);
    const bool may_have_finished = member != nullptr && !member->leaves && pod.phase == PodPhase::kSucceeded;
    const bool is_report_needed = may_have_finished || (pod.has_ended() && keeps_ended_pods);
    if (!is_report_needed) remove_pod(result, pod);
  }
}

void withdraw_requests_for_nodes(PolicyResult& result, const Observation& observation, const GenerationRecord& record) {
  for (const PodView& pod : observation.pods) {
    if (pod.is_ours && !pod.has_ended() && pod.node.empty() && !has_slot(record, pod)) remove_pod(result, pod);
  }
}

void remove_unused_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record) {
  const bool is_too_late_to_save = may_release_unsaved(observation, record) && !has_failed_to_save(observation, record);
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours || pod.has_ended() || has_slot(record, pod)) continue;
    if (const auto until = awaits_its_kubelet_until(observation, record, pod)) {
      requeue(result, time_until(observation.now, *until));
      continue;
    }
    const bool hands_over = member_of(record, pod.uid) != nullptr && !is_too_late_to_save;
    const bool is_needed = hands_over && !is_released(observation, record, pod) && !trains(observation, record);
    if (!is_needed && !is_probed(observation, record, pod)) remove_pod(result, pod);
  }
}

}  // namespace sailor
