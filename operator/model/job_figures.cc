#include "operator/model/job_figures.h"

namespace sailor {

const StepStatus* steps_of(const JobStatus& status) {
  return status.progress && status.progress->newest ? &*status.progress->newest : nullptr;
}

const PlanStatus* plan_in_use(const JobStatus& status) {
  return status.plan && !status.has_stopped() ? &*status.plan : nullptr;
}

const ConditionStatus* main_condition(const JobStatus& status) {
  if (status.reason == to_string(Reason::kWaitingForNodes)) return status.find(ConditionType::kPodsReady);
  for (const ConditionType type : {ConditionType::kFailed, ConditionType::kComplete, ConditionType::kSuspended,
                                   ConditionType::kRescaling, ConditionType::kRunning}) {
    if (status.is_true(type)) return status.find(type);
  }
  for (const ConditionType type : {ConditionType::kPlanned, ConditionType::kPodsReady, ConditionType::kRunning}) {
    const ConditionStatus* found = status.find(type);
    if (found != nullptr && found->condition.truth != Truth::kTrue) return found;
  }
  return nullptr;
}

std::optional<std::int64_t> total_steps(const JobStatus& status) {
  return status.progress ? status.progress->total_steps : std::nullopt;
}

std::optional<std::int64_t> measured_tokens_per_second(const JobStatus& status) {
  const bool trains = status.is_true(ConditionType::kRunning) || status.is_true(ConditionType::kRescaling);
  const StepStatus* steps = steps_of(status);
  if (!trains || steps == nullptr || steps->tokens_per_second <= 0) return {};
  return steps->tokens_per_second;
}

std::optional<Seconds> time_left(const JobStatus& status) {
  const StepStatus* steps = steps_of(status);
  const auto speed = measured_tokens_per_second(status);
  const auto total = total_steps(status);
  const std::int64_t done = steps == nullptr ? 0 : steps->step - steps->began_at_step;
  if (!speed || done <= 0 || !total) return {};
  const double tokens_of_step = static_cast<double>(steps->tokens) / static_cast<double>(done);
  return Seconds(static_cast<double>(*total - steps->step) * tokens_of_step / static_cast<double>(*speed));
}

std::optional<double> speed_over_plan(const JobStatus& status) {
  const auto speed = measured_tokens_per_second(status);
  if (!speed || !status.plan || status.plan->tokens_per_second <= 0) return {};
  return static_cast<double>(*speed) / static_cast<double>(status.plan->tokens_per_second);
}

std::optional<double> present_dollars_per_hour(const JobStatus& status) {
  if (!status.progress || status.progress->dollars_per_hour <= 0 || status.has_stopped()) return {};
  return status.progress->dollars_per_hour;
}

std::optional<double> useful_part(const JobStatus& status) {
  if (!status.progress || status.progress->elapsed_seconds <= 0) return {};
  return status.progress->useful_seconds / status.progress->elapsed_seconds;
}

std::string why_unfinished(const RescaleStatus& change) {
  if (change.is_withdrawn) return "withdrawn";
  return change.is_interrupted ? "interrupted" : "in progress";
}

}  // namespace sailor
