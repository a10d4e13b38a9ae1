#include "operator/reconcile/decide/progress_status.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "operator/model/job_status.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/rescale_history.h"

namespace sailor {
namespace {

using kube::Json;
using kube::text_at;

// Since the status was written; nothing: it never was.
std::optional<double> seconds_since_counted(const Observation& observation) {
  const auto counted = parse_rfc3339(text_at(observation.job.status, {"progress", "time"}));
  if (!counted) return std::nullopt;
  return std::max(0.0, seconds_between(*counted, observation.now));
}

double dollars_spent(const Observation& observation, const std::optional<JobProgress>& progress,
                     const std::optional<GenerationRecord>& record) {
  const double before = decimal_at(observation.job.status, {"progress", "dollarsSpent"});
  const auto passed = seconds_since_counted(observation);
  if (!passed) return before;
  const auto steps = progress ? progress->step - kube::integer_at(observation.job.status, {"progress", "step"}) : 0;
  const double traffic =
      record ? record->summary.traffic_cost_per_iteration * static_cast<double>(std::max<std::int64_t>(0, steps)) : 0;
  return before + dollars_per_hour(observation) * *passed / 3600 + traffic;
}

bool is_suspended(const Observation& observation) {
  return is_true(observation.job.status, "Suspended") || (observation.job.spec && observation.job.spec->suspend);
}

// How long the job was to train, and how long steps took that count: a step that is done again counts once, and counts
// for what a step takes now. Both go on from what the status says, so that a new operator continues them.
void count_goodput(const Observation& observation, const std::optional<JobProgress>& progress, Json& status) {
  const double passed = is_suspended(observation) ? 0 : seconds_since_counted(observation).value_or(0);
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

Json progress_status(const Observation& observation, const std::optional<GenerationRecord>& record) {
  const Json* last = kube::find_at(observation.job.status, {"progress"});
  if (!record) return last == nullptr ? Json() : *last;
  Json status = last == nullptr ? Json::object() : *last;
  const auto progress = newest_progress(observation);
  status["time"] = to_rfc3339_micro(observation.now);
  status["dollarsSpent"] = fmt::format("{:.6f}", dollars_spent(observation, progress, record));
  count_goodput(observation, progress, status);
  if (observation.job.spec) status["totalSteps"] = observation.job.spec->training.steps;
  if (!progress || is_before_first_step(observation, *progress))
    return status;  // how far it had come is still to be compared
  status["step"] = progress->step;
  status["loss"] = fmt::format("{:.4f}", progress->loss);
  status["firstLoss"] = fmt::format("{:.4f}", progress->first_loss);
  if (progress->validation_loss) status["validationLoss"] = fmt::format("{:.4f}", *progress->validation_loss);
  status["stepsSkipped"] = progress->steps_skipped;
  status["tokensPerSecond"] = std::llround(std::max(0.0, progress->tokens_per_second));
  status["tokens"] = progress->tokens;
  status["lastCheckpointStep"] = progress->last_checkpoint_step;
  const std::int64_t lost = kube::integer_at(status, {"stepsLost"});
  status["stepsLost"] = lost + (completes_a_rescale(observation, *progress) ? steps_lost(observation, *progress) : 0);
  return status;
}

}  // namespace sailor
