#include "operator/reconcile/decide/job_security.h"

#include <algorithm>

#include "core/protocol/credentials.h"

namespace sailor {
namespace {

// The kubelet needs up to about two minutes until a pod has what was written.
constexpr std::chrono::minutes kPause{10};

bool is_old(const AgentView& agent, Time now) {
  if (!agent.answers() || !agent.report || !agent.report->credentials_expire) return false;
  const auto left = *agent.report->credentials_expire - std::chrono::floor<std::chrono::seconds>(now);
  return left < kCertificateValidity - kCertificateRenewal;
}

// The kubelet does not start a pod whose Secret is missing: somebody may have deleted it.
constexpr std::chrono::seconds kUsualStart{30};
constexpr std::chrono::minutes kPauseWhilePodsWait{2};

Time starts_to_wait_at(const PodView& pod) {
  return std::max(pod.created, pod.bound_at.value_or(Time())) + kUsualStart;
}

bool is_waiting(const PodView& pod) {
  return pod.is_ours && pod.phase == PodPhase::kPending && !pod.is_deleting && !pod.node.empty() && pod.ip.empty();
}

// Returns the first pod that does not start for a reason that a new Secret may remove; null: there is none.
const PodView* find_waiting(const Observation& observation) {
  const auto found = std::ranges::find_if(observation.pods, [&](const PodView& pod) {
    return is_waiting(pod) && observation.now >= starts_to_wait_at(pod);
  });
  return found == observation.pods.end() ? nullptr : &*found;
}

// Returns whether the pods may not know yet whom to trust.
bool is_trust_due(const Observation& observation) {
  const auto& change = observation.trust_change;
  const auto& written_at = observation.secured_at;
  return change && (!written_at || *written_at < change->at) && !observation.agents.empty();
}

}  // namespace

void secure_job(Decision& decision, const Observation& observation) {
  const auto& written_at = observation.secured_at;
  const bool keeps_certificates = observation.trust_change && observation.trust_change->keeps_certificates;
  const PodView* waiting = find_waiting(observation);
  const auto pause = waiting != nullptr ? kPauseWhilePodsWait : kPause;
  const bool is_recent = written_at && observation.now >= *written_at && observation.now - *written_at < pause;
  const bool is_due = is_trust_due(observation);
  if (is_recent && !is_due) return;
  std::vector<Action>& actions = decision.actions;
  for (auto action = actions.begin(); action != actions.end(); ++action) {
    if (const auto* create = std::get_if<CreatePod>(&*action)) {
      actions.insert(action, SecureJob{kube::name_of(create->pod), keeps_certificates});
      return;
    }
  }
  const bool has_old =
      std::ranges::any_of(observation.agents, [&](const auto& agent) { return is_old(agent.second, observation.now); });
  if (waiting != nullptr) {
    actions.emplace_back(SecureJob{waiting->name, keeps_certificates});
  } else if (is_due || (has_old && !keeps_certificates)) {
    actions.emplace_back(SecureJob{"", keeps_certificates});
  }
}

PolicyResult requeue_while_pods_wait(const Observation& observation) {
  PolicyResult result;
  const Time after_pause = observation.secured_at.value_or(Time()) + kPauseWhilePodsWait;
  for (const PodView& pod : observation.pods) {
    const Time due_at = std::max(starts_to_wait_at(pod), after_pause);
    if (is_waiting(pod) && due_at > observation.now) requeue(result, time_until(observation.now, due_at));
  }
  return result;
}

}  // namespace sailor
