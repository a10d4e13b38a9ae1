#include "operator/pages/job_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "operator/model/job_figures.h"
#include "operator/model/unused_pools.h"
#include "operator/pages/page_parts.h"
#include "report/drawing.h"
#include "report/numbers.h"
#include "report/plan_view.h"
#include "report/share_bar.h"
#include "report/stage_map.h"

namespace sailor {
namespace {

using report::counted;
using report::duration;
using report::Element;
using report::fact;
using report::money;
using report::percent;
using report::Row;

constexpr double kClearlyBelowPlan = 0.9;
constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;
constexpr double kNoDifference = 0.005;  // an estimate is no more exact than that

std::string seconds_text(double seconds) { return duration(Seconds(std::max(0.0, seconds))); }

// The plan that trains: while a change is prepared, it is not the newest one.
const Generation* shown_generation(const ShownJob& view) {
  if (!view.record || plan_in_use(view.job.status) == nullptr) return nullptr;
  const Generation& generation = view.record->in_use();
  return generation.releases_gpus ? nullptr : &generation;
}

const char* colour_of(const JobStatus& status) {
  if (status.is_true(ConditionType::kFailed)) return "verdict bad";
  if (status.state == "Rescaling") return "verdict changing";
  return status.is_true(ConditionType::kRunning) || status.is_true(ConditionType::kComplete) ? "verdict"
                                                                                             : "verdict neutral";
}

Element verdict(const JobInCluster& job, Time now) {
  const JobStatus& status = job.status;
  Element section("section");
  section.add(Element("p").add(Element("span", {{"class", colour_of(status)}}).text(state_text(job))));
  if (const ConditionStatus* main = main_condition(status)) {
    const std::string since = main->last_transition
                                  ? fmt::format(" (for {})", seconds_text(seconds_between(*main->last_transition, now)))
                                  : "";
    section.add(
        Element("p").text(fmt::format("{}{}: {}", to_string(main->condition.reason), since, main->condition.message)));
  }
  return section;
}

Element step_fact(const JobStatus& status) {
  const StepStatus* steps = steps_of(status);
  const auto total = total_steps(status);
  const auto left = time_left(status);
  const std::string step = steps == nullptr ? "0" : counted(steps->step);
  return fact("Step", total ? fmt::format("{} of {}", step, counted(*total)) : step,
              left ? duration(*left) + " left at this speed" : "");
}

Element cost_fact(const JobStatus& status) {
  const StepStatus* steps = steps_of(status);
  const double dollars = status.progress ? status.progress->dollars_spent : 0;
  const bool has_tokens = steps != nullptr && steps->tokens > 0;
  return fact("Spent", money(dollars),
              has_tokens ? money(dollars / static_cast<double>(steps->tokens) * 1e6) + " per million tokens" : "");
}

Element key_figures(const JobStatus& status) {
  const StepStatus* steps = steps_of(status);
  const PlanStatus* plan = plan_in_use(status);
  const auto dollars = present_dollars_per_hour(status);
  const auto speed = measured_tokens_per_second(status);
  const auto of_plan = speed_over_plan(status);
  Element facts("dl", {{"class", "facts"}});
  facts.add(step_fact(status));
  facts.add(fact("Speed", speed ? counted(*speed) + " tokens/s" : kNothing,
                 of_plan && status.plan
                     ? fmt::format("{} of the plan's {}", percent(*of_plan), counted(status.plan->tokens_per_second))
                     : ""));
  facts.add(
      fact("GPUs", plan == nullptr ? "0" : counted(plan->total_gpus), dollars ? money(*dollars) + " per hour" : ""));
  facts.add(cost_fact(status));
  facts.add(fact("Loss", steps == nullptr ? kNothing : fmt::format("{:.4g}", steps->loss),
                 steps == nullptr ? "" : fmt::format("{:.4g} at first", steps->first_loss)));
  facts.add(fact("Goodput", text_or_nothing(useful_part(status), percent), "time in steps that count"));
  if (steps != nullptr)
    facts.add(fact("Checkpoint", fmt::format("step {}", counted(steps->last_checkpoint_step)),
                   steps->steps_lost > 0 ? counted(steps->steps_lost, "step") + " done again" : "no step was lost"));
  return facts;
}

std::string colour_of(LostCause cause) {
  static const std::map<LostCause, std::string> colours{
      {LostCause::kWaiting, "grey"},     {LostCause::kPlanning, "purple"}, {LostCause::kStarting, "sky"},
      {LostCause::kRescaling, "orange"}, {LostCause::kRepeating, "red"},   {LostCause::kStalled, "blue"}};
  return colours.at(cause);
}

Element time_section(const ProgressStatus& progress) {
  Element section("section");
  section.add(heading("Where the time went"));
  if (progress.elapsed_seconds <= 0) return section.add(Element("p").text("No time has passed since the first plan."));
  std::vector<report::Share> shares;
  const auto add = [&](const std::string& colour, std::string_view name, double seconds) {
    const double part = seconds / progress.elapsed_seconds;
    shares.push_back(
        {colour, fmt::format("{} {} ({})", name, seconds_text(seconds), percent(std::max(0.0, part))), part});
  };
  add("green", "steps that count", progress.useful_seconds);
  for (const auto& [cause, seconds] : progress.lost_seconds) {
    if (seconds > 0) add(colour_of(cause), to_string(cause), seconds);
  }
  return section.add(report::share_bar("The parts of the time since the first plan", shares));
}

Element money_section(const ProgressStatus& progress) {
  Element section("section");
  section.add(heading("Where the money went"));
  std::string text =
      fmt::format("{} for GPUs and {} for traffic between zones.",
                  money(progress.dollars_spent - progress.traffic_dollars), money(progress.traffic_dollars));
  if (progress.saved_dollars > 0)
    text += fmt::format(" On demand, the same GPUs would have cost {} more.", money(progress.saved_dollars));
  return section.add(Element("p").text(text));
}

std::string why_text(const Generation& generation) {
  const PlanSummary& summary = generation.summary;
  std::string text = fmt::format("Plan {} was made at {} ({}): {}", generation.generation,
                                 to_rfc3339(generation.decided_at), to_string(generation.reason), generation.message);
  text += fmt::format(" The planner expects {} per step, {} tokens/s and {} per hour.",
                      seconds_text(summary.iteration_seconds), counted(static_cast<long>(summary.tokens_per_second)),
                      money(summary.cost_per_hour));
  if (summary.bound_ratio > 0)
    text += fmt::format(
        " It reaches {} of a speed that no plan for the GPUs of that time can exceed; whether a plan between the two "
        "exists is unknown.",
        percent(std::min(1.0, summary.bound_ratio)));
  if (summary.failures_per_hour > 0)
    text += fmt::format(" One of its nodes is expected to fail every {}.",
                        seconds_text(kSecondsPerHour / summary.failures_per_hour));
  return text;
}

Element pods_table(const Generation& generation) {
  std::vector<std::set<int>> stages(generation.placement.slots.size());
  for (const ReplicaPlacement& placed : generation.placement.replicas)
    stages.at(static_cast<std::size_t>(placed.slot)).insert(placed.stage);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Slot& slot = generation.placement.slots[i];
    std::string numbers;
    for (const int stage : stages[i]) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", stage);
    rows.push_back({{slot.pod, slot.node.empty() ? "a node that does not exist yet" : slot.node,
                     report::pool_text(slot.pool), counted(slot.gpus), numbers}});
  }
  return report::figure("", report::table({{"Pod"}, {"Node"}, {"Pool"}, {"GPUs", true}, {"Stages"}}, rows));
}

std::string difference(double ratio, const char* less, const char* equal, const char* more) {
  if (std::abs(1 - ratio) < kNoDifference) return equal;
  return fmt::format("{} {}", percent(std::abs(1 - ratio)), ratio < 1 ? less : more);
}

// "20 % slower, 35 % cheaper": another plan beside the one in use.
std::string compared(const PlanSummary& used, const AlternativePlan& other) {
  const double speed = used.iteration_seconds / other.iteration_seconds;
  std::string text = difference(speed, "slower", "as fast", "faster");
  if (used.cost_per_iteration() <= 0) return text;  // nothing has a price
  const double cost = other.cost_per_iteration / used.cost_per_iteration();
  return text + ", " + difference(cost, "cheaper", "for the same price", "dearer");
}

// The answer to: what would be better?
Element other_plans_section(const Generation& generation) {
  const PlanSummary& summary = generation.summary;
  Element section("section");
  section.add(heading("Other plans for these GPUs"));
  if (summary.alternatives.empty())
    return section.add(Element("p").text("No other plan is known that is faster or cheaper."));
  const double tokens = summary.tokens_per_second * summary.iteration_seconds;
  std::vector<Row> rows;
  const auto add = [&](std::string name, double seconds, double cost, int gpus) {
    rows.push_back({{std::move(name), seconds_text(seconds), counted(static_cast<long>(tokens / seconds)),
                     money(cost / seconds * kSecondsPerHour), money(cost / tokens * kMillion), counted(gpus)}});
  };
  add("the plan in use", summary.iteration_seconds, summary.cost_per_iteration(), gpu_count(generation.plan));
  for (const AlternativePlan& other : summary.alternatives)
    add(compared(summary, other), other.iteration_seconds, other.cost_per_iteration, other.gpus);
  section.add(Element("p").text("The job's objective and limits chose among them when the plan was made."));
  const std::vector<report::Column> columns = {
      {"Plan"}, {"Step", true}, {"Tokens/s", true}, {"$/hour", true}, {"$/million tokens", true}, {"GPUs", true}};
  return section.add(report::figure("", report::table(columns, rows)));
}

Element plan_section(const ShownJob& view) {
  Element section("section");
  section.add(heading("Plan"));
  const Generation* generation = shown_generation(view);
  if (generation == nullptr) return section.add(Element("p").text("The job has no plan that holds GPUs."));
  section.add(Element("p").text(why_text(*generation)));
  if (view.record && view.record->running)
    section.add(Element("p").text(fmt::format("Plan {} is being prepared, and this one trains on meanwhile: {}",
                                              view.record->generation, view.record->message)));
  return section.add(report::stage_map(generation->plan)).add(heading("Pods")).add(pods_table(*generation));
}

std::string name_of_node(const ShownJob& view, const std::string& uid) {
  const auto found = std::ranges::find(view.cluster.nodes, uid, &NodeView::uid);
  return found == view.cluster.nodes.end() ? "a node that is gone" : found->name;
}

// What keeps the job from being faster or cheaper, as far as the operator knows.
std::vector<std::string> obstacles(const ShownJob& view, Time now) {
  const JobStatus& status = view.job.status;
  std::vector<std::string> all;
  if (status.is_true(ConditionType::kDegraded)) {
    const Condition& degraded = status.find(ConditionType::kDegraded)->condition;
    all.push_back(fmt::format("{}: {}", to_string(degraded.reason), degraded.message));
  }
  if (const auto part = speed_over_plan(status); part && *part < kClearlyBelowPlan && !status.has_ended())
    all.push_back(
        fmt::format("It trains at {} of the speed that the planner expects. Measured times of the model's "
                    "layers (a ModelProfile) and of the network (a NetworkModel) make plans more exact.",
                    percent(*part)));
  for (const UnusedPool& unused : unused_pools(status)) all.push_back(warning_about(unused));
  if (!view.record || status.has_ended()) return all;
  for (const SlowGpu& slow : view.record->slow_gpus) {
    if (slow.is_slow())
      all.push_back(fmt::format("GPU {} of {} takes {:.3g} times as long as usual since {}.", slow.gpu,
                                name_of_node(view, slow.node_uid), slow.slowdown, to_rfc3339(slow.since)));
  }
  for (const QuarantinedNode& node : view.record->quarantined_nodes) {
    if (node.until > now)
      all.push_back(
          fmt::format("The job does not use {} before {}, because its pod there did not start, failed, or "
                      "could not reach its peers.",
                      name_of_node(view, node.node_uid), to_rfc3339(node.until)));
  }
  if (!view.record->last_failure.empty())
    all.push_back(fmt::format("It has failed and started again {}; the last time: {}",
                              counted(view.record->restarts, "time"), view.record->last_failure));
  return all;
}

Element obstacles_section(const ShownJob& view, Time now) {
  const std::vector<std::string> all = obstacles(view, now);
  Element section("section");
  section.add(heading("What holds it back"));
  return section.add(all.empty() ? Element("p").text("Nothing that the operator knows of.") : report::bullets(all));
}

std::string end_of(const RescaleStatus& change) {
  return change.seconds ? seconds_text(*change.seconds) : why_unfinished(change);
}

Element changes_section(const std::vector<RescaleStatus>& changes) {
  Element section("section");
  section.add(heading("Changes of plan"));
  if (changes.empty()) return section.add(Element("p").text("The plan has not changed."));
  std::vector<Row> rows;
  for (const RescaleStatus& change : std::views::reverse(changes)) {
    rows.push_back({{to_rfc3339(change.time), fmt::format("{} to {}", change.from_generation, change.to_generation),
                     fmt::format("{} to {}", change.from_gpus, change.to_gpus), end_of(change),
                     text_or_nothing(change.stopped_seconds, seconds_text),
                     text_or_nothing(change.steps_lost, [](std::int64_t steps) { return counted(steps); }),
                     fmt::format("{}: {}", to_string(change.reason), change.message)}});
  }
  return section.add(report::figure(
      "The newest is first.",
      report::table({{"Time"}, {"Plan"}, {"GPUs"}, {"Took", true}, {"Stopped", true}, {"Steps lost", true}, {"Why"}},
                    rows)));
}

}  // namespace

std::string job_page(const ShownJob& view, Time now) {
  const std::string name = to_string(view.job.key);
  const JobStatus& status = view.job.status;
  Element content("main");
  content.add(Element("p").add(Element("a", {{"href", "../../"}}).text("All jobs")));
  content.add(Element("h1").text(name)).add(verdict(view.job, now)).add(key_figures(status));
  content.add(obstacles_section(view, now));
  if (status.progress) content.add(time_section(*status.progress)).add(money_section(*status.progress));
  content.add(plan_section(view));
  if (const Generation* generation = shown_generation(view)) content.add(other_plans_section(*generation));
  content.add(changes_section(status.rescales));
  return operator_page(name, content, now);
}

}  // namespace sailor
