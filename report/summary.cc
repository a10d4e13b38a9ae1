#include "report/summary.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

// The share of the step that the busiest replica of a stage spends on passes.
double busy_share(const PlanView& view, std::size_t stage) {
  Nanoseconds most{};
  for (const auto& passes : view.details.step.passes[stage]) {
    Nanoseconds sum{};
    for (const TimedPass& pass : passes) sum += pass.end - pass.start;
    most = std::max(most, sum);
  }
  const auto whole = view.details.step.end();
  return whole.count() > 0 ? static_cast<double>(most.count()) / static_cast<double>(whole.count()) : 0;
}

// Lists every pool. If there are many, lists each GPU type with its number of zones.
std::string pools_sentence(const PlanView& view) {
  constexpr std::size_t kMaxPools = 4;
  std::map<std::string, std::pair<int, std::set<Zone>>> parts;  // GPUs and zones, by name
  const bool is_brief = view.estimate.gpus.size() > kMaxPools;
  for (const auto& [pool, gpus] : view.estimate.gpus) {
    auto& [count, zones] = parts[is_brief ? pool.accelerator.str() : pool_text(pool)];
    count += gpus;
    zones.insert(pool.zone);
  }
  std::string text;
  for (const auto& [name, part] : parts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", counted(part.first), name);
    if (is_brief) text += " in " + counted(static_cast<long>(part.second.size()), "zone");
  }
  return text;
}

std::string replicas_text(const PlanView& view, std::size_t stage) {
  std::string text;
  for (const SimilarReplicas& group : similar_replicas(view.plan, stage)) {
    text += (text.empty() ? "" : "; ") + similar_text(view.plan, group);
  }
  return text;
}

Row row_of(const PlanView& view, const StageRun& run) {
  double busiest = 0;
  Bytes most(0);
  for (std::size_t stage = run.first; stage <= run.last; ++stage) {
    busiest = std::max(busiest, busy_share(view, stage));
    most = std::max(most, view.estimate.memory[stage].total());
  }
  return {{stages_text(run), layers_text(view.plan, run), replicas_text(view, run.first), memory_text(most),
           percent(busiest)}};
}

}  // namespace

Element verdict(const PlanView& view) {
  const std::vector<std::string>& violations = view.estimate.violations;
  Element section("section");
  if (violations.empty()) {
    section.add(Element("p").add(Element("span", {{"class", "verdict"}}).text("This plan fits")));
    return section;
  }
  section.add(Element("p").add(Element("span", {{"class", "verdict bad"}}).text("This plan does not fit")));
  section.add(bullets(violations));
  return section;
}

Element key_figures(const PlanView& view) {
  const Estimate& estimate = view.estimate;
  Element facts("dl", {{"class", "facts"}});
  facts.add(fact(
      "Iteration", duration(estimate.iteration),
      counted(view.plan.global_batch_size, "sequence") + " of " + counted(view.job.training.sequence_length, "token")));
  facts.add(fact("Throughput", significant(estimate.throughput()) + " iterations/s",
                 significant(estimate.tokens_per_second) + " tokens/s"));
  facts.add(fact("Cost per iteration", money(estimate.cost_per_iteration().value()),
                 fmt::format("GPUs {}, traffic {}", money(estimate.gpu_cost_per_iteration.value()),
                             money(estimate.traffic_cost_per_iteration.value()))));
  facts.add(fact("Cost per hour", money(estimate.cost_per_hour.value()), ""));
  facts.add(fact("GPUs", counted(gpu_count(view.plan)), counted(static_cast<long>(view.plan.stages.size()), "stage")));
  const ExpectedLoss& loss = estimate.expected_loss;
  facts.add(fact("Expected loss", percent(loss.ratio()),
                 fmt::format("on top of the training time: a node fails every {}, which costs {}",
                             duration(Seconds(3600 / loss.failures_per_hour)), duration(loss.per_failure))));
  return facts;
}

Element plan_in_words(const PlanView& view) {
  const Plan& plan = view.plan;
  std::size_t busiest = 0;
  for (std::size_t stage = 1; stage < plan.stages.size(); ++stage) {
    if (busy_share(view, stage) > busy_share(view, busiest)) busiest = stage;
  }
  Element words("p");
  words.text(fmt::format("{} in {} on {}: {}. ", plan.model, counted(static_cast<long>(plan.stages.size()), "stage"),
                         counted(gpu_count(plan), "GPU"), pools_sentence(view)));
  words.text(fmt::format("Each step of {} is split into {} of {}; one replica of every stage processes each of them. ",
                         counted(plan.global_batch_size, "sequence"), microbatches_text(plan.microbatches()),
                         counted(plan.microbatch_size)));
  words.text(fmt::format("Stage {} is the bottleneck: its busiest replica computes for {} of the step.", busiest,
                         percent(busy_share(view, busiest))));
  return words;
}

Element stage_table(const PlanView& view) {
  std::vector<Row> rows;
  for (const StageRun& run : runs_of_equal_stages(view.plan)) rows.push_back(row_of(view, run));
  return figure("", table({{"Stage"}, {"Layers"}, {"Replicas"}, {"Peak memory", true}, {"Busy", true}}, rows));
}

Element notes(const PlanView& view) {
  Element section("section");
  if (view.estimate.notes.empty()) return section;
  section.add(Element("h2").text("Assumptions")).add(bullets(view.estimate.notes));
  return section;
}

}  // namespace sailor::report
