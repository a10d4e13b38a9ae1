#include "operator/reconcile/decide/progress_status.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "operator/reconcile/decide/rescale_history.h"
#include "operator/reconcile/decide/status.h"

namespace sailor {
namespace {

using kube::Json;
using kube::text_at;

void offer(std::optional<JobProgress>& best, const std::optional<AgentReport>& report) {
  if (!report || !report->progress) return;
  const auto rank = [](const JobProgress& progress) { return std::pair(progress.generation, progress.step); };
  if (!best || rank(*report->progress) > rank(*best)) best = report->progress;
}

// Since the status was written; nothing: it never was.
std::optional<double> seconds_since_counted(const Observation& seen) {
  const auto counted = parse_rfc3339(text_at(seen.job.status, {"progress", "time"}));
  if (!counted) return std::nullopt;
  return std::max(0.0, seconds_between(*counted, seen.now));
}

double dollars_spent(const Observation& seen, const std::optional<JobProgress>& progress,
                     const std::optional<GenerationRecord>& record) {
  const double before = decimal_at(seen.job.status, {"progress", "dollarsSpent"});
  const auto passed = seconds_since_counted(seen);
  if (!passed) return before;
  const auto steps = progress ? progress->step - kube::integer_at(seen.job.status, {"progress", "step"}) : 0;
  const double traffic =
      record ? record->summary.traffic_cost_per_iteration * static_cast<double>(std::max<std::int64_t>(0, steps)) : 0;
  return before + dollars_per_hour(seen) * *passed / 3600 + traffic;
}

bool is_suspended(const Observation& seen) {
  return is_true(seen.job.status, "Suspended") || (seen.job.spec && seen.job.spec->suspend);
}

// How long the job was to train, and how long steps took that count: a step that is done again counts once, and counts
// for what a step takes now. Both go on from what the status says, so that a new operator continues them.
void count_goodput(const Observation& seen, const std::optional<JobProgress>& progress, Json& status) {
  const double passed = is_suspended(seen) ? 0 : seconds_since_counted(seen).value_or(0);
  double useful = decimal_at(status, {"usefulSeconds"});
  if (progress) {
    const std::int64_t furthest = kube::integer_at(status, {"furthestStep"});
    const auto steps = static_cast<double>(std::max<std::int64_t>(0, progress->step - furthest));
    useful += steps * progress->step_seconds;
    status["furthestStep"] = std::max(furthest, progress->step);
  }
  status["elapsedSeconds"] = fmt::format("{:.3f}", decimal_at(status, {"elapsedSeconds"}) + passed);
  status["usefulSeconds"] = fmt::format("{:.3f}", useful);
}

}  // namespace

double decimal_at(const Json& object, kube::Path path) {
  const std::string text = text_at(object, path);
  return text.empty() ? 0 : std::strtod(text.c_str(), nullptr);
}

std::optional<JobProgress> newest_progress(const Observation& seen) {
  std::optional<JobProgress> best;
  for (const auto& [uid, agent] : seen.agents) offer(best, agent.report);
  for (const PodView& pod : seen.pods) {
    if (pod.is_ours) offer(best, pod.last_word);
  }
  return best;
}

double dollars_per_hour(const Observation& seen) {
  double sum = 0;
  for (const PodView& pod : seen.pods) {
    const auto pool = seen.cluster.pools.find(pod.pool);
    if (!pod.is_ours || pod.phase != PodPhase::kRunning || pool == seen.cluster.pools.end()) continue;
    sum += pool->second.price_per_gpu.value() * pod.gpus;
  }
  return sum;
}

Json progress_status(const Observation& seen, const std::optional<GenerationRecord>& record) {
  const Json* last = kube::find_at(seen.job.status, {"progress"});
  if (!record) return last == nullptr ? Json() : *last;
  Json status = last == nullptr ? Json::object() : *last;
  const auto progress = newest_progress(seen);
  status["time"] = to_rfc3339_micro(seen.now);
  status["dollarsSpent"] = fmt::format("{:.6f}", dollars_spent(seen, progress, record));
  count_goodput(seen, progress, status);
  if (seen.job.spec) status["totalSteps"] = seen.job.spec->training.steps;
  if (!progress || is_before_first_step(seen, *progress)) return status;  // how far it had come is still to be compared
  status["step"] = progress->step;
  status["loss"] = fmt::format("{:.4f}", progress->loss);
  status["firstLoss"] = fmt::format("{:.4f}", progress->first_loss);
  if (progress->validation_loss) status["validationLoss"] = fmt::format("{:.4f}", *progress->validation_loss);
  status["stepsSkipped"] = progress->steps_skipped;
  status["tokensPerSecond"] = std::llround(std::max(0.0, progress->tokens_per_second));
  status["tokens"] = progress->tokens;
  status["lastCheckpointStep"] = progress->last_checkpoint_step;
  const std::int64_t lost = kube::integer_at(status, {"stepsLost"});
  status["stepsLost"] = lost + (completes_a_rescale(seen, *progress) ? steps_lost(seen, *progress) : 0);
  return status;
}

}  // namespace sailor
