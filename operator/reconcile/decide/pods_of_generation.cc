// The pods and the assignments of a job's newest generation.
#include <algorithm>

#include <fmt/format.h>

#include "operator/model/names.h"
#include "operator/reconcile/decide/job_decision.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

const Slot* slot_of(const GenerationRecord& record, const std::string& pod) {
  const auto found = std::ranges::find(record.placement.slots, pod, &Slot::pod);
  return found == record.placement.slots.end() ? nullptr : &*found;
}

}  // namespace

void JobDecision::requeue(std::chrono::milliseconds delay) {
  decision_.requeue_after = std::min(decision_.requeue_after.value_or(delay), delay);
}

void JobDecision::remove_pod(const PodView& pod) {
  if (!pod.is_deleting) decision_.actions.emplace_back(DeletePod{pod.name, pod.uid});
}

void JobDecision::carry_out() {
  remove_stale_pods();
  if (!record_->is_committed()) {
    create_missing_pods();
    commit_membership_if_all_are_ready();
  }
  if (record_->is_committed()) {
    send_assignments();
    remove_unused_pods();
  }
  update_callback();
}

// Pods that have ended, and with elasticity Restart those of earlier generations.
void JobDecision::remove_stale_pods() {
  for (const PodView& pod : observation_.pods) {
    if (!pod.is_ours || (!pod.has_ended() && !is_stale(observation_, pod))) continue;
    const Member* member = member_of(*record_, pod.uid);
    const bool may_have_finished = member != nullptr && !member->leaves && pod.phase == PodPhase::kSucceeded;
    if (may_have_finished || (pod.has_ended() && is_failure_open_)) continue;  // its last word is still needed
    remove_pod(pod);
  }
}

void JobDecision::create_missing_pods() {
  if (observation_.now < record_->not_before) {
    requeue(record_->not_before - observation_.now);
    return;
  }
  for (const Slot& slot : record_->placement.slots) {
    const bool is_on_its_way = find_pod(observation_, slot.pod) != nullptr;  // in, or out
    if (is_on_its_way || is_occupied(observation_, slot)) continue;
    const NodeView* node = observation_.cluster.find_node(slot.node);
    const bool can_go_there = node != nullptr && node->uid == slot.node_uid && !node->is_terminating;
    if (!slot.node.empty() && !can_go_there) continue;
    decision_.actions.emplace_back(
        CreatePod{render_pod(observation_.job, slot, record_->generation, observation_.settings)});
  }
}

void JobDecision::send_assignments() {
  const auto assignment = std::make_shared<const Assignment>(
      assignment_of(*record_, *observation_.job.spec, observation_.settings.callback));
  for (const Member& member : record_->members) {
    const AgentView* agent = find_answering(observation_, member);
    if (agent == nullptr) continue;
    const auto& workers = agent->report->workers;
    const bool knows = !workers.empty() && std::ranges::all_of(workers, [&](const WorkerReport& worker) {
      return worker.generation >= record_->generation || worker.phase == WorkerPhase::kFinished ||
             worker.phase == WorkerPhase::kFailed;
    });
    if (!knows) decision_.actions.emplace_back(SendAssignment{member.pod_uid, member.address, assignment});
  }
}

// An agent learns the address of an operator that has started anew: its hints would go nowhere.
void JobDecision::update_callback() {
  if (observation_.settings.callback.empty()) return;
  for (const PodView& pod : observation_.pods) {
    const AgentView* agent = find_agent(observation_, pod);
    const bool is_told_one = agent != nullptr && agent->answers() && !agent->report->callback.empty();
    if (!pod.is_ours || !is_told_one || agent->report->callback == observation_.settings.callback) continue;
    decision_.actions.emplace_back(UpdateCallback{pod.uid});
  }
}

bool JobDecision::is_released(const PodView& pod) const {
  const AgentView* agent = find_agent(observation_, pod);
  if (agent == nullptr || !agent->report || agent->report->workers.empty()) return false;
  return std::ranges::all_of(agent->report->workers, [&](const WorkerReport& worker) {
    return worker.phase == WorkerPhase::kReleased && worker.generation >= record_->generation;
  });
}

// Pods that no slot wants: at once if they have nothing to hand over, else when they are released or no longer needed.
void JobDecision::remove_unused_pods() {
  for (const PodView& pod : observation_.pods) {
    if (!pod.is_ours || pod.has_ended() || slot_of(*record_, pod.name) != nullptr) continue;
    const bool is_too_late = is_past_saving() && !is_unsaved();  // to save what it holds
    const bool hands_over = member_of(*record_, pod.uid) != nullptr && !is_too_late;
    if (!hands_over || is_released(pod) || trains()) remove_pod(pod);
  }
}

// All workers with a role in the newest generation are at it.
bool JobDecision::trains() const {
  if (!record_ || !record_->is_committed() || record_->releases_gpus) return false;
  return std::ranges::all_of(record_->members, [&](const Member& member) {
    if (member.leaves) return true;
    const auto agent = observation_.agents.find(member.pod_uid);
    return agent != observation_.agents.end() && agent->second.report &&
           std::ranges::any_of(agent->second.report->workers, [&](const WorkerReport& worker) {
             const bool is_at_it = worker.phase == WorkerPhase::kTraining || worker.phase == WorkerPhase::kFinished;
             return is_at_it && worker.generation == record_->generation;
           });
  });
}

}  // namespace sailor
