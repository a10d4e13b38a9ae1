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
  const bool is_recent = written_at && observation.now >= *written_at && observation.now - *written_at < kPause;
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
  if (is_due || (has_old && !keeps_certificates)) actions.emplace_back(SecureJob{"", keeps_certificates});
}

}  // namespace sailor
