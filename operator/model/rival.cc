#include "operator/model/rival.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "operator/model/job_status.h"

namespace sailor {

std::string priority_class_of(const kube::Json& job) {
  const std::string own = kube::text_at(job, {"spec", "priorityClassName"});
  return own.empty() ? kube::text_at(job, {"spec", "podTemplate", "spec", "priorityClassName"}) : own;
}

JobPriority priority_from(const kube::Json& priority_class) {
  const std::int64_t value = kube::integer_at(priority_class, {"value"});
  constexpr std::int64_t kLowest = std::numeric_limits<int>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<int>::max();
  return {static_cast<int>(std::clamp(value, kLowest, kHighest)),
          kube::text_at(priority_class, {"preemptionPolicy"}) != "Never"};
}

bool comes_before(const JobRank& one, const JobRank& other) {
  if (one.priority != other.priority) return one.priority > other.priority;
  return std::tie(one.created, one.key) < std::tie(other.created, other.key);
}

bool Demand::may_use(const NodeView& node) const { return resources.allows(node.pool) && rules.accept(node); }

bool Demand::may_use_growth(const PoolKey& pool, const Labels& labels_of_new_node) const {
  return resources.allows(pool) && rules.accept_future_node(labels_of_new_node);
}

bool may_share_a_pool(const ResourceSpec& one, const ResourceSpec& other) {
  const auto may_share = [](const auto& left, const auto& right) {
    return left.empty() || right.empty() ||
           std::ranges::any_of(left, [&](const auto& item) { return std::ranges::find(right, item) != right.end(); });
  };
  return may_share(one.accelerators, other.accelerators) && may_share(one.zones, other.zones) &&
         (one.provisioning == other.provisioning || one.provisioning == ProvisioningPolicy::kAny ||
          other.provisioning == ProvisioningPolicy::kAny);
}

RivalState state_without_gpus(const kube::Json& job) {
  const kube::Json* status = kube::find_at(job, {"status"});
  if (status == nullptr) return RivalState::kUndecided;
  const JobStatus parsed = job_status_from_json(*status);
  const ConditionStatus* planned = parsed.find(ConditionType::kPlanned);
  if (planned == nullptr) return RivalState::kUndecided;
  // A job that was suspended keeps that reason until it is decided about again.
  const Reason reason = planned->condition.reason;
  if (reason == Reason::kPlanning || reason == Reason::kSuspended) return RivalState::kUndecided;
  return reason == Reason::kWaitingForCapacity ? RivalState::kWaits : RivalState::kHolds;
}

Rivals::Rivals(InOrder all) : all_(std::move(all)) {
  by_uid_.reserve(all_.size());
  for (const auto& rival : all_) {
    by_uid_.emplace(rival->uid, rival.get());
    if (rival->state != RivalState::kHolds) without_gpus_.push_back(rival.get());
  }
}

const Rival* Rivals::find(std::string_view uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second;
}

}  // namespace sailor
