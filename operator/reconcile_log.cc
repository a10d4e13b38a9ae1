#include "operator/reconcile_log.h"

#include <fmt/format.h>

#include "core/log/log.h"
#include "core/model/plan_hash.h"

namespace sailor {
namespace {

std::string seconds_text(double seconds) { return fmt::format("{:.3f}", seconds); }

}  // namespace

void log_reconcile(const ReconcileReport& report) {
  if (!report.failure.empty()) {
    // A conflict only means that another process wrote an object after the observation.
    log_event(report.is_conflict ? LogLevel::kDebug : LogLevel::kWarning, "reconcile failed",
              {{"job", to_string(report.job)}, {"reason", report.failure}});
  }
  for (const std::string& leftover : report.leftovers)
    log_info("deleted what a deleted job had left", {{"job", to_string(report.job)}, {"object", leftover}});
  if (report.decision == nullptr || !report.failure.empty()) return;
  for (const JobEvent& event : report.decision->events) {
    log_event(
        event.is_warning ? LogLevel::kWarning : LogLevel::kInfo, "job changed",
        {{"job", to_string(report.job)}, {"reason", std::string(to_string(event.reason))}, {"message", event.message}});
  }
  log_debug("reconciled", {{"job", to_string(report.job)},
                           {"actions", std::to_string(report.decision->actions.size())},
                           {"seconds", seconds_text(report.seconds)}});
}

void log_pool_failure(const std::string& pool, const kube::ApiError& error) {
  // Somebody has changed or deleted the GpuPool, or another operator leads.
  const bool is_expected = error.is_conflict() || error.is_not_found() || error.reason == kube::kNotLeader;
  log_event(is_expected ? LogLevel::kDebug : LogLevel::kWarning, "status of a GpuPool not written",
            {{"pool", pool}, {"reason", error.message}});
}

void log_plan(const PlanAnswer& answer, double seconds) {
  const std::string job = to_string(answer.question.job.key);
  if (!answer.result) {
    log_info("no plan", {{"job", job}, {"reason", answer.result.error().message}});
    return;
  }
  const PlannedJob& planned = *answer.result;
  log_info("planned", {{"job", job},
                       {"plan", plan_hash(planned.plan)},
                       {"gpus", std::to_string(gpu_count(planned.plan))},
                       {"tokens_per_second", fmt::format("{:.0f}", planned.estimate.tokens_per_second)},
                       {"seconds", seconds_text(seconds)}});
}

}  // namespace sailor
