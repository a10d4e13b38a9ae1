#include "operator/reconcile/decide/status_events.h"

#include <algorithm>
#include <array>

#include "core/model/cut_text.h"
#include "operator/model/unused_pools.h"

namespace sailor {
namespace {

constexpr std::size_t kLongestNote = 1000;  // Kubernetes limits the note of an event to 1024 bytes

struct ReportedCondition {
  ConditionType type;
  Truth truth;
  bool is_warning;
};
// Each change of a condition to one of these values is an event.
constexpr std::array<ReportedCondition, 9> kReported = {{{ConditionType::kPlanned, Truth::kTrue, false},
                                                         {ConditionType::kPlanned, Truth::kFalse, true},
                                                         {ConditionType::kPodsReady, Truth::kFalse, true},
                                                         {ConditionType::kRunning, Truth::kTrue, false},
                                                         {ConditionType::kRescaling, Truth::kTrue, false},
                                                         {ConditionType::kDegraded, Truth::kTrue, true},
                                                         {ConditionType::kSuspended, Truth::kTrue, false},
                                                         {ConditionType::kComplete, Truth::kTrue, false},
                                                         {ConditionType::kFailed, Truth::kTrue, true}}};

// Returns whether a change is worth an event. Planning is not, because it always takes a moment; nor is the end of a
// plan by a suspension, which has an event of its own. Pods always take a while to be ready, unless they, or their
// certificates, are refused.
bool is_news(const Condition& condition, ConditionType type) {
  if (type == ConditionType::kPodsReady)
    return condition.reason == Reason::kPodRefused || condition.reason == Reason::kAgentUntrusted;
  const bool ends_with_job = type == ConditionType::kPlanned && condition.reason == Reason::kSuspended;
  return condition.reason != Reason::kPlanning && !ends_with_job;
}

void append_condition_events(const JobStatus& before, const JobStatus& now, std::vector<JobEvent>& events) {
  for (const auto& [type, status] : now.conditions) {
    const Condition& condition = status.condition;
    const ConditionStatus* last = before.find(type);
    const bool is_same = last != nullptr && last->condition == condition;
    if (is_same || !is_news(condition, type)) continue;
    const auto* reported = std::ranges::find_if(kReported, [&, this_type = type](const ReportedCondition& entry) {
      return entry.type == this_type && entry.truth == condition.truth;
    });
    if (reported == kReported.end()) continue;
    events.push_back({reported->is_warning, condition.reason, cut_text(condition.message, kLongestNote)});
  }
}

// Appends an event for each of the pools that was not among them before.
void append_unused_pools(const JobStatus& before, const JobStatus& now, std::vector<JobEvent>& events) {
  const std::vector<UnusedPool> known = unused_pools(before);
  for (const UnusedPool& unused : unused_pools(now)) {
    if (std::ranges::find(known, unused) == known.end()) events.push_back({true, unused.reason, warning_about(unused)});
  }
}

}  // namespace

std::vector<JobEvent> events_of_change(const JobStatus& before, const JobStatus& now) {
  std::vector<JobEvent> events;
  append_condition_events(before, now, events);
  append_unused_pools(before, now, events);
  return events;
}

}  // namespace sailor
