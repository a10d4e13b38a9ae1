// A job that is parked: its workers save the newest step that they hold together, then its pods go; later it starts
// again, from that step. So are suspended jobs, jobs that nothing is left for, and jobs that may not change while they
// run.
#include <algorithm>

#include <fmt/format.h>

#include "operator/reconcile/decide/job_decision.h"

namespace sailor {
namespace {

constexpr auto kSaveLimit = std::chrono::seconds(60);  // then the pods go though not all is saved

std::string message_of(const AgentView& agent) {
  for (const WorkerReport& worker : agent.report->workers) {
    if (!worker.message.empty()) return worker.message;
  }
  return "no reason is known";
}

}  // namespace

void JobDecision::release_gpus(const std::string& reason, const std::string& message) {
  GenerationRecord next = successor(reason, message);
  next.releases_gpus = true;
  next.placement = {};
  begin_generation(std::move(next));
}

// A checkpoint can be written, and somebody has something to write.
bool JobDecision::can_save() const {
  return !observation_.job.spec->checkpoint.path.empty() &&
         std::ranges::any_of(observation_.pods, [&](const PodView& pod) {
           const AgentView* agent = find_agent(observation_, pod);
           return pod.is_ours && !pod.has_ended() && agent != nullptr && holds_state(*agent);
         });
}

bool JobDecision::is_past_saving() const {
  return record_->releases_gpus &&
         (observation_.job.spec->checkpoint.path.empty() || observation_.now - record_->decided_at >= kSaveLimit);
}

// Somebody who holds state, or may hold it and was not heard yet, is still to save it.
bool JobDecision::is_saving() const {
  constexpr int kGivenUp = 3;  // polls without an answer
  if (is_past_saving() || is_unsaved()) return false;
  return std::ranges::any_of(observation_.pods, [&](const PodView& pod) {
    if (!pod.is_ours || pod.has_ended() || pod.ip.empty() || record_->unreachable_pods.contains(pod.uid)) return false;
    const AgentView* agent = find_agent(observation_, pod);
    if (agent == nullptr) return true;
    return agent->unanswered_polls < kGivenUp && (!agent->report || holds_state(*agent));
  });
}

// A worker has tried and failed, for a peer was lost or the folder has gone: it keeps its state.
bool JobDecision::is_unsaved() const {
  return std::ranges::any_of(observation_.agents,
                             [&](const auto& agent) { return is_broken(agent.second, record_->generation); });
}

std::string JobDecision::saved_words() const {
  for (const auto& [uid, agent] : observation_.agents) {
    if (is_broken(agent, record_->generation)) {
      return fmt::format("Its state could not be saved: {}.", message_of(agent));
    }
  }
  if (is_saving()) return "Its state is being saved.";
  if (observation_.job.spec->checkpoint.path.empty()) return "It has no checkpoint folder.";
  return "Its newest checkpoint holds its state.";
}

// Why it is parked, and how its state is, as two sentences.
std::string JobDecision::released_words() const {
  const bool is_sentence = record_->message.ends_with('.');
  return fmt::format("{}{} {}", record_->message, is_sentence ? "" : ".", saved_words());
}

void JobDecision::tend_released() {
  if (is_saving()) {
    save_again();
    conditions_.planned = no(record_->reason, released_words());
    requeue(kSaveLimit);
    return;
  }
  start_again();
  if (record_->releases_gpus) save_again();
}

// The same again with whoever is left: after a failure that may have passed, or where somebody is lost for whom the
// others would wait at their meeting, or cannot come to it.
void JobDecision::save_again() {
  if (is_past_saving()) return;
  const auto disruption = find_disruption(observation_, *record_);
  if (!disruption) return;
  GenerationRecord next = *record_;
  next.unreachable_pods.insert(disruption->unreachable_pods.begin(), disruption->unreachable_pods.end());
  next.last_issued = std::max(next.last_issued, next.generation) + 1;
  next.generation = next.last_issued;
  next.members.clear();
  begin_generation(std::move(next));
}

// With new pods where the state is saved or lost; where it could not be saved, its holders go on.
void JobDecision::start_again() {
  const NodeQuery question{NodeScope::kExisting, {}, !is_unsaved()};
  if (observation_.job.spec->elasticity == ElasticityMode::kOff) {
    place_again(question);
    return;
  }
  const PlanAnswer* answer = ask_growing(question, std::nullopt);
  if (answer == nullptr) {
    conditions_.planned = no("Planning", "The planner is looking for the best plan.");
  } else if (!answer->result) {
    explain_waiting(answer->result.error(), answer->question.cluster);
    conditions_.planned.message += " " + saved_words();
  } else {
    const bool was_pause = waits_until_wanted(*record_);
    adopt(*answer, question, was_pause ? "Resumed" : record_->reason,
          was_pause ? fmt::format("It starts again: {}.", gpus_of(answer->result->plan)) : record_->message);
  }
}

// Elasticity Off: the same plan on the same kinds of GPUs, once they are there.
void JobDecision::place_again(const NodeQuery& question) {
  const auto nodes = usable_nodes(observation_, question);
  auto placement = place({observation_.job.key.name, record_->plan, nodes, observation_.cluster, pod_names()});
  if (!placement) {
    conditions_.planned =
        no("WaitingForCapacity", fmt::format("{}; elasticity Off keeps the first plan and waits for its GPUs: {}. {}",
                                             record_->message, gpus_of(record_->plan), saved_words()));
    return;
  }
  GenerationRecord next = successor(waits_until_wanted(*record_) ? "Resumed" : record_->reason, record_->message);
  if (question.replaces_pods) next.min_pod_generation = next.generation;
  next.placement = std::move(*placement);
  begin_generation(std::move(next));
}

void JobDecision::suspend() {
  if (record_ && !record_->releases_gpus) release_gpus("Suspended", "spec.suspend is true.");
  if (record_ && (is_unsaved() || is_saving())) save_again();
  if (record_) carry_out();
  const bool is_stopping = record_ && (is_saving() || (is_unsaved() && !is_past_saving()));
  bool has_pods = false;
  for (const PodView& pod : observation_.pods) {
    if (!pod.is_ours) continue;
    has_pods = true;
    if (!is_stopping) remove_pod(pod);
  }
  describe_suspension(has_pods);
  if (is_stopping) {
    conditions_.suspended = no("Saving", "The state is being saved before the pods end.");
    requeue(kSaveLimit);
  }
}

}  // namespace sailor
