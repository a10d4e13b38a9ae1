// Pods that fail, and pods that do not come: a job that could train without them does.
#include <algorithm>

#include <fmt/format.h>

#include "operator/reconcile/decide/job_decision.h"

namespace sailor {
namespace {

std::string uid_of_node(const Observation& observation, const std::string& pod) {
  const PodView* view = find_pod(observation, pod);
  const NodeView* node = view == nullptr ? nullptr : observation.cluster.find_node(view->node);
  return node == nullptr ? "" : node->uid;
}

// A pod of the newest generation that has not trained in one before it, while others have.
bool is_joining(const Observation& observation, const std::string& pod) {
  const PodView* view = find_pod(observation, pod);
  return view != nullptr && observation.record->from_generation > 0 &&
         view->created_for_generation == observation.record->generation &&
         observation.record->min_pod_generation < observation.record->generation;
}

}  // namespace

// A newcomer that fails says nothing of the job; any other failure counts. The survivors go on at once; where there are
// none, or too few, the same pods are made anew after a while.
void JobDecision::count_failure(const TrainerFailure& failure) {
  const bool counts = !is_joining(observation_, failure.pod);
  if (!counts && go_on_without(failure, false)) return;
  if (record_->restarts >= observation_.job.spec->max_restarts) {
    fail_job("TrainerFailed",
             fmt::format("Pod {} failed after {} restarts: {}", failure.pod, record_->restarts, failure.message));
    return;
  }
  if (counts && go_on_without(failure, true)) return;
  GenerationRecord next = successor("TrainerFailed", failure.message);
  next.restarts = record_->restarts + 1;
  next.last_failure = failure.message;
  next.not_before = observation_.now + restart_delay(next.restarts);
  begin_generation(std::move(next));
}

// False: the others cannot. True also while that is being planned.
bool JobDecision::go_on_without(const TrainerFailure& failure, bool counts) {
  if (observation_.job.spec->elasticity != ElasticityMode::kLive) return false;
  const NodeQuery question{NodeScope::kSurvivors, {failure.pod}, false};
  const auto survivors = usable_nodes(observation_, question);
  if (survivors.empty()) return false;
  const PlanAnswer* answer = ask(survivors, record_->plan);
  if (answer == nullptr) {
    is_failure_open_ = true;
    return true;
  }
  if (!answer->result) return false;
  const int restarts = record_->restarts + (counts ? 1 : 0);
  const Time until = observation_.now + (counts ? restart_delay(restarts) : observation_.settings.start_limit);
  if (const std::string uid = uid_of_node(observation_, failure.pod); !uid.empty()) {
    record_->quarantined_nodes.push_back({uid, Time(), until});
  }
  if (counts) {
    record_->restarts = restarts;
    record_->last_failure = failure.message;
  }
  const char* reason = counts ? "TrainerFailed" : "NewcomerGivenUp";
  return adopt(*answer, question, reason, fmt::format("Pod {} failed: {}", failure.pod, failure.message));
}

// The newest generation waits for its pods while the one before it trains. It is withdrawn if that one is in trouble,
// which is answered at once, or if a newcomer fails or is late.
void JobDecision::watch_joining_pods() {
  if (const auto disruption = find_disruption(observation_, *record_->running)) {
    withdraw(disruption->message, {});
    return;
  }
  if (const auto failure = find_uncounted_failure(observation_)) {
    const PodView* pod = find_pod(observation_, failure->pod);
    if (member_of(*record_->running, pod->uid) != nullptr) {
      withdraw(failure->message, {});  // and then it is counted
      return;
    }
    const QuarantinedNode quarantined{uid_of_node(observation_, failure->pod), Time(),
                                      observation_.now + observation_.settings.start_limit};
    withdraw(fmt::format("pod {} failed: {}", failure->pod, failure->message), {quarantined});
    return;
  }
  if (const auto disruption = find_joining_pods_problem(observation_)) {
    withdraw(disruption->message, disruption->nodes_to_quarantine);
    return;
  }
  requeue(observation_.settings.start_limit);
}

void JobDecision::withdraw(const std::string& message, const std::vector<QuarantinedNode>& quarantined_nodes) {
  const std::int64_t given_up = record_->generation;
  record_->last_issued = std::max(record_->last_issued, given_up);
  static_cast<Generation&>(*record_) = Generation(*record_->running);
  record_->running.reset();
  std::erase_if(record_->older, [&](const OlderRecord& older) { return older.generation == record_->generation; });
  for (const QuarantinedNode& quarantined : quarantined_nodes) {
    if (!quarantined.node_uid.empty()) record_->quarantined_nodes.push_back(quarantined);
  }
  decision_.actions.emplace_back(WriteRecord{*record_});
  decision_.events.push_back(
      {true, "ChangeWithdrawn",
       fmt::format("Generation {} is given up and {} trains on: {}.", given_up, record_->generation, message)});
}

}  // namespace sailor
