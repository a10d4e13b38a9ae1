#include "cli/job_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/tables.h"
#include "operator/model/job_figures.h"
#include "operator/model/unused_pools.h"
#include "report/numbers.h"
#include "report/plan_view.h"

namespace sailor::cli {
namespace {

using report::counted;
using report::duration;
using report::money;
using report::percent;

constexpr const char* kNone = "-";

std::string ago(Time then, Time now) { return duration(Seconds(std::max(0.0, seconds_between(then, now)))); }

std::string step_text(const JobStatus& status) {
  const StepStatus* steps = steps_of(status);
  const long step = steps == nullptr ? 0 : steps->step;
  const auto total = total_steps(status);
  return total ? fmt::format("{}/{}", step, *total) : fmt::format("{}", step);
}

template <class T, class Text>
std::string or_none(const std::optional<T>& value, Text text) {
  return value ? text(*value) : kNone;
}

std::string with_time(const ConditionStatus& found, Time now) {
  const std::string since = found.last_transition ? " for " + ago(*found.last_transition, now) : "";
  return fmt::format("{}{}: {}", to_string(found.condition.reason), since, found.condition.message);
}

std::string speed_line(const JobStatus& status) {
  const auto speed = measured_tokens_per_second(status);
  if (!speed) return "nothing measured";
  std::string text = counted(*speed) + " tokens/s";
  if (const auto part = speed_over_plan(status); part && status.plan) {
    text += fmt::format(", {} of the {} that are planned", percent(*part), counted(status.plan->tokens_per_second));
  }
  return text;
}

std::string steps_line(const JobStatus& status) {
  const StepStatus* steps = steps_of(status);
  if (steps == nullptr) return "none is done";
  std::string text = step_text(status) + fmt::format(", loss {:.4g} ({:.4g} at first)", steps->loss, steps->first_loss);
  if (const auto left = time_left(status)) text += ", " + duration(*left) + " left at this speed";
  if (steps->last_checkpoint_step > 0)
    text += fmt::format("; the newest checkpoint has step {}", steps->last_checkpoint_step);
  if (steps->steps_lost > 0) text += fmt::format("; {} done again", counted(steps->steps_lost, "step"));
  return text;
}

std::string cost_line(const JobStatus& status) {
  const auto rate = present_dollars_per_hour(status);
  std::string text = rate ? money(*rate) + " per hour" : "";
  if (status.progress) {
    text += fmt::format("{}{} so far", text.empty() ? "" : ", ", money(status.progress->dollars_spent));
    if (status.progress->traffic_dollars > 0)
      text += fmt::format(", {} of it for traffic", money(status.progress->traffic_dollars));
    if (status.progress->saved_dollars > 0)
      text += fmt::format("; on demand it would be {} more", money(status.progress->saved_dollars));
  }
  return text.empty() ? kNone : text;
}

std::string time_line(const JobStatus& status) {
  const auto useful = useful_part(status);
  if (!useful || !status.progress) return kNone;
  std::string text = fmt::format("{} of {} went into steps that count", percent(*useful),
                                 duration(Seconds(status.progress->elapsed_seconds)));
  std::vector<std::pair<double, LostCause>> lost;
  for (const auto& [cause, seconds] : status.progress->lost_seconds) {
    if (seconds >= 0.5) lost.emplace_back(seconds, cause);
  }
  std::ranges::sort(lost, std::greater{}, [](const auto& part) { return part.first; });
  for (const auto& [seconds, cause] : lost)
    text += fmt::format("; {} {}", duration(Seconds(seconds)), to_string(cause));
  return text;
}

std::string stage_lines(const Plan& plan) {
  std::string text;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    text += fmt::format("  stage {}, layers {}\n", stage, report::layers_text(plan.stages[stage]));
    for (const report::SimilarReplicas& similar : report::similar_replicas(plan, stage)) {
      text += fmt::format("    {}\n", report::similar_text(plan, similar));
    }
  }
  return text;
}

std::string change_text(const RescaleStatus& change) {
  const std::string end = !change.seconds ? why_unfinished(change)
                          : change.stopped_seconds
                              ? fmt::format("stopped for {}", duration(Seconds(*change.stopped_seconds)))
                              : "done";
  return fmt::format("  {}  plan {} to {}, {} to {} GPUs, {}\n    {}: {}\n", to_rfc3339(change.time),
                     change.from_generation, change.to_generation, change.from_gpus, change.to_gpus, end,
                     to_string(change.reason), change.message);
}

std::string warnings_of(const JobStatus& status) {
  std::string text;
  if (status.is_true(ConditionType::kDegraded)) {
    const Condition& degraded = status.find(ConditionType::kDegraded)->condition;
    text += fmt::format("Warning   {}: {}\n", to_string(degraded.reason), degraded.message);
  }
  const ConditionStatus* planned = status.find(ConditionType::kPlanned);
  const bool is_unplanned = planned != nullptr && planned->condition.truth == Truth::kFalse;
  if (is_unplanned && status.is_true(ConditionType::kRunning)) {
    text += fmt::format("Warning   {}: {}\n", to_string(planned->condition.reason), planned->condition.message);
  }
  for (const UnusedPool& unused : unused_pools(status)) {
    text += fmt::format("Warning   {}\n", warning_about(unused));
  }
  return text;
}

}  // namespace

std::string describe_jobs(const std::vector<JobInCluster>& jobs, bool with_namespace) {
  std::vector<std::vector<std::string>> rows{
      {"NAME", "STATE", "GPUS", "STEP", "LEFT", "TOKENS/S", "OF PLAN", "USEFUL", "$/H", "SPENT"}};
  if (with_namespace) rows.front().insert(rows.front().begin(), "NAMESPACE");
  int gpus = 0;
  double dollars_per_hour = 0;
  for (const JobInCluster& job : jobs) {
    const JobStatus& status = job.status;
    const PlanStatus* plan = plan_in_use(status);
    gpus += plan != nullptr ? plan->total_gpus : 0;
    const auto rate = present_dollars_per_hour(status);
    dollars_per_hour += rate.value_or(0);
    rows.push_back({job.key.name, status.state.empty() ? kNone : status.state,
                    plan != nullptr ? fmt::format("{}", plan->total_gpus) : kNone, step_text(status),
                    or_none(time_left(status), duration),
                    or_none(measured_tokens_per_second(status), [](std::int64_t speed) { return counted(speed); }),
                    or_none(speed_over_plan(status), percent), or_none(useful_part(status), percent),
                    or_none(rate, [](double dollars) { return fmt::format("{:.2f}", dollars); }),
                    status.progress ? money(status.progress->dollars_spent) : kNone});
    if (with_namespace) rows.back().insert(rows.back().begin(), job.key.namespace_name);
  }
  const std::string sum = fmt::format("\n{}, {}, {} per hour\n", counted(std::ssize(jobs), "job"), counted(gpus, "GPU"),
                                      money(dollars_per_hour));
  return table(rows) + (jobs.size() > 1 ? sum : "");
}

std::string explain_job(const JobInCluster& job, const std::optional<Plan>& plan, Time now) {
  const JobStatus& status = job.status;
  const ConditionStatus* main = main_condition(status);
  std::string text = fmt::format("Job       {}: {}\n", to_string(job.key), state_text(job));
  if (main != nullptr) text += fmt::format("Now       {}\n", with_time(*main, now));
  text += warnings_of(status);
  text += fmt::format("Steps     {}\nSpeed     {}\nCost      {}\nTime      {}\n", steps_line(status),
                      speed_line(status), cost_line(status), time_line(status));
  if (const PlanStatus* used = plan_in_use(status)) {
    text += fmt::format("Plan      {} on {}\n", used->generation, counted(used->total_gpus, "GPU"));
    if (plan) text += stage_lines(*plan);
  }
  constexpr std::size_t kShown = 3;
  const std::size_t hidden = status.rescales.size() - std::min(kShown, status.rescales.size());
  if (!status.rescales.empty()) text += "Changes\n";
  if (hidden > 0) text += fmt::format("  {} before; `kubectl sailor history {}` shows all\n", hidden, job.key.name);
  for (std::size_t i = hidden; i < status.rescales.size(); ++i) text += change_text(status.rescales[i]);
  return text;
}

std::string explain_missing_pods(const JobInCluster& job, Time now) {
  const ConditionStatus* main = main_condition(job.status);
  return fmt::format("Job {} has no pods, so it has no logs. It is {}.{}\n", to_string(job.key), state_text(job),
                     main == nullptr ? "" : " " + with_time(*main, now));
}

std::string describe_history(const JobInCluster& job) {
  std::vector<std::vector<std::string>> rows{
      {"TIME", "PLAN", "GPUS", "TOOK", "STOPPED", "LOST STEPS", "REASON", "MESSAGE"}};
  for (const RescaleStatus& change : job.status.rescales) {
    const auto time = [](double seconds) { return duration(Seconds(seconds)); };
    const std::string took = change.seconds ? time(*change.seconds) : why_unfinished(change);
    rows.push_back({to_rfc3339(change.time), fmt::format("{} to {}", change.from_generation, change.to_generation),
                    fmt::format("{} to {}", change.from_gpus, change.to_gpus), took,
                    or_none(change.stopped_seconds, time),
                    or_none(change.steps_lost, [](std::int64_t steps) { return fmt::format("{}", steps); }),
                    std::string(to_string(change.reason)), change.message});
  }
  return table(rows);
}

std::string in_order_of_time(const std::string& logs) {
  struct Line {
    std::string_view time;
    std::string_view text;
  };
  std::vector<Line> lines;
  std::string_view rest = logs;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    // "[pod/NAME/CONTAINER] 2026-11-26T03:35:46.801234567Z TEXT"
    const std::size_t begin = line.starts_with('[') ? line.find("] ") : std::string_view::npos;
    if (begin != std::string_view::npos) {
      const std::string_view stamped = line.substr(begin + 2);
      lines.push_back({stamped.substr(0, stamped.find(' ')), line});
    } else {
      lines.push_back({lines.empty() ? std::string_view() : lines.back().time, line});
    }
  }
  std::ranges::stable_sort(lines, {}, &Line::time);
  std::string text;
  for (const Line& line : lines) text.append(line.text).append("\n");
  return text;
}

}  // namespace sailor::cli
