#include "operator/leader/leader_election.h"

#include <random>

#include "operator/kube/reflector.h"

namespace sailor {
namespace {

using kube::Json;

constexpr double kJitter = 1.2;

std::chrono::milliseconds jittered(std::chrono::milliseconds time) {
  static thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> factor(1.0, kJitter);
  return std::chrono::milliseconds(static_cast<long>(static_cast<double>(time.count()) * factor(random)));
}

}  // namespace

LeaderElection::LeaderElection(kube::Api& api, LeaseSettings settings, Clocks clocks)
    : api_(api), settings_(std::move(settings)), clocks_(std::move(clocks)) {}

bool LeaderElection::may_write() const { return clocks_.monotonic() < leads_until_.load(); }

bool LeaderElection::acquire(std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (try_once()) return true;
    kube::interruptible_sleep(jittered(settings_.retry), stop);
  }
  return false;
}

Json LeaderElection::spec_of(const Json& before, bool is_mine) const {
  const std::string now = to_rfc3339_micro(clocks_.wall());
  const auto transitions = kube::integer_at(before, {"spec", "leaseTransitions"});
  return {{"holderIdentity", settings_.identity},
          {"leaseDurationSeconds", std::max<long>(1, settings_.duration.count() / 1000)},
          {"acquireTime", is_mine ? kube::text_at(before, {"spec", "acquireTime"}) : now},
          {"renewTime", now},
          {"leaseTransitions", transitions + (is_mine ? 0 : 1)}};
}

bool LeaderElection::create() {
  Json lease = {{"apiVersion", kube::kLeases.group_version},
                {"kind", kube::kLeases.kind},
                {"metadata", {{"name", settings_.name}, {"namespace", settings_.namespace_name}}}};
  lease["spec"] = spec_of(lease, false);
  lease["spec"]["leaseTransitions"] = 0;
  const Instant asked = clocks_.monotonic();
  const auto created = api_.create(kube::kLeases, lease);
  if (created) leads_until_ = asked + settings_.renew_deadline;
  return created.has_value();
}

bool LeaderElection::is_of_earlier_process(const std::string& holder) const {
  return !settings_.pod.empty() && holder.starts_with(settings_.pod + "_");
}

bool LeaderElection::try_once() {
  const auto lease = api_.get(kube::kLeases, {settings_.namespace_name, settings_.name});
  if (!lease) return lease.error().is_not_found() && create();
  const std::string holder = kube::text_at(*lease, {"spec", "holderIdentity"});
  const bool is_mine = holder == settings_.identity;
  if (kube::version_of(*lease) != seen_version_) {
    seen_version_ = kube::version_of(*lease);
    seen_at_ = clocks_.monotonic();
  }
  const bool has_expired = clocks_.monotonic() - seen_at_ > settings_.duration;
  if (!holder.empty() && !is_mine && !has_expired && !is_of_earlier_process(holder)) return false;
  return write(*lease, is_mine);
}

// Writes the lease with the resourceVersion that was read. If two operators do so at the same time, one of them gets a
// conflict.
bool LeaderElection::write(const Json& lease, bool is_mine) {
  Json wanted = lease;
  wanted["spec"] = spec_of(lease, is_mine);
  const Instant asked = clocks_.monotonic();  // the lease counts from before the request
  const auto written = api_.replace(kube::kLeases, wanted);
  if (written) leads_until_ = asked + settings_.renew_deadline;
  return written.has_value();
}

void LeaderElection::release() {
  if (!may_write()) return;
  auto lease = api_.get(kube::kLeases, {settings_.namespace_name, settings_.name});
  leads_until_ = Instant::min();
  if (!lease || kube::text_at(*lease, {"spec", "holderIdentity"}) != settings_.identity) return;
  (*lease)["spec"]["holderIdentity"] = "";
  // If this fails, the lease expires by itself.
  [[maybe_unused]] const auto released = api_.replace(kube::kLeases, *lease);
}

}  // namespace sailor
