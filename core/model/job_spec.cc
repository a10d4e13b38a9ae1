#include "core/model/job_spec.h"

#include <algorithm>

namespace sailor {
namespace {

template <class T>
bool is_allowed(const std::vector<T>& allowed, const T& value) {
  return allowed.empty() || std::ranges::find(allowed, value) != allowed.end();
}

}  // namespace

bool allows_peer_replicas(Redundancy setting, bool has_peer_replicas) {
  return setting == Redundancy::kAuto || has_peer_replicas == (setting == Redundancy::kPeer);
}

bool allows_recomputation(ActivationCheckpointing setting, bool recomputes) {
  return setting == ActivationCheckpointing::kAuto || recomputes == (setting == ActivationCheckpointing::kAlways);
}

bool ResourceSpec::allows(const PoolKey& pool) const {
  const bool is_spot = pool.provisioning == Provisioning::kSpot;
  const bool provisioning_fits =
      provisioning == ProvisioningPolicy::kAny || is_spot == (provisioning == ProvisioningPolicy::kSpot);
  return provisioning_fits && is_allowed(accelerators, pool.accelerator) && is_allowed(zones, pool.zone);
}

}  // namespace sailor
