#include "operator/reconcile/decide/protection.h"

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

}  // namespace

void protect_job(Decision& decision, const Observation& observation) {
  const auto& written_at = observation.protected_at;
  if (written_at && observation.now >= *written_at && observation.now - *written_at < kPause) return;
  std::vector<Action>& actions = decision.actions;
  for (auto action = actions.begin(); action != actions.end(); ++action) {
    if (const auto* create = std::get_if<CreatePod>(&*action)) {
      actions.insert(action, ProtectJob{kube::name_of(create->pod)});
      return;
    }
  }
  const bool is_due =
      std::ranges::any_of(observation.agents, [&](const auto& agent) { return is_old(agent.second, observation.now); });
  if (is_due) actions.emplace_back(ProtectJob{});
}

}  // namespace sailor
