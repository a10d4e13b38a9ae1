#include "operator/reconcile/pod_refusals.h"

#include <algorithm>

namespace sailor {
namespace {

using std::chrono::seconds;

constexpr seconds kFirstPause{5};
constexpr seconds kLastPause{60};

seconds pause_after(int tries) {
  return tries > 4 ? kLastPause : std::min(kLastPause, kFirstPause * (1 << (tries - 1)));
}

}  // namespace

void PodRefusals::note(const Observation& observation, const std::string& pod, const std::string& message) {
  const std::scoped_lock lock(mutex_);
  PodRefusal& refusal = refusals_[observation.job.key];
  const bool is_repeated = refusal.spec_generation == observation.job.spec_generation;
  const int tries = is_repeated ? refusal.tries + 1 : 1;
  refusal = {pod, message, observation.job.spec_generation, tries, observation.now + pause_after(tries)};
}

void PodRefusals::accept(const JobKey& job, const std::string& pod) {
  const std::scoped_lock lock(mutex_);
  const auto found = refusals_.find(job);
  if (found != refusals_.end() && found->second.pod == pod) refusals_.erase(found);
}

void PodRefusals::forget(const JobKey& job) {
  const std::scoped_lock lock(mutex_);
  refusals_.erase(job);
}

std::optional<PodRefusal> PodRefusals::find(const JobKey& job) const {
  const std::scoped_lock lock(mutex_);
  const auto found = refusals_.find(job);
  return found == refusals_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace sailor
