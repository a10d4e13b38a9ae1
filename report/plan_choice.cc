#include "report/plan_choice.h"

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"
#include "report/pareto_chart.h"

namespace sailor::report {
namespace {

std::string space_text(PlanSpace space) {
  return space == PlanSpace::kPaper ? "plans with equal replicas and layers in every stage (space paper)"
                                    : "plans of any shape (space flow)";
}

std::string question_text(const JobSpec& job, const PlannedJob& planned, const PlanOptions& options) {
  std::string text = fmt::format("Objective: {}, among {}. ", objective_text(job.objective), space_text(options.space));
  text += fmt::format("The search compared {} in {}", counted(planned.search.candidates, "candidate"),
                      duration(planned.search.elapsed));
  if (planned.search.pruned_by_memory > 0) {
    text += fmt::format("; {} did not fit into memory", counted(planned.search.pruned_by_memory));
  }
  text += planned.search.was_cut_short
              ? ". The search stopped at its time limit; a longer search might find a better plan."
              : ".";
  if (options.current && *options.current == planned.plan) {
    text += fmt::format(
        " This is the current plan. No other plan is better by {}, the least gain for which a running job is moved.",
        percent(kWorthwhileGain));
  }
  return text;
}

// The search compares plans by an estimate that takes microseconds.
std::string fast_estimate_text(const PlannedJob& planned, const Estimate& exact) {
  if (exact.iteration == planned.estimate.iteration) return "";
  return fmt::format(
      "The search compares plans by a fast estimate, which gives {} per iteration for this plan. The rest of this page "
      "uses the simulation of every operation, which gives {}.",
      duration(planned.estimate.iteration), duration(exact.iteration));
}

std::string bound_text(const JobSpec& job, const PlannedJob& planned) {
  const bool is_free = planned.estimate.cost_per_iteration() <= Dollars(0);  // then the ratio is not defined
  const std::string bound = std::holds_alternative<MinimizeCost>(job.objective) && !is_free
                                ? fmt::format("cost less than {} per iteration; that is {} of what this plan costs",
                                              money(planned.bound_cost.value()), percent(planned.cost_bound_ratio()))
                                : fmt::format("exceed {} iterations/s; this plan reaches {} of that",
                                              significant(planned.bound_throughput), percent(planned.bound_ratio()));
  return fmt::format(
      "Bound: by the search's estimates no plan can {}. Whether a better plan within the bound exists is unknown.",
      bound);
}

Element plan_table(const std::vector<ComparedPlan>& plans) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const ComparedPlan& plan = plans[i];
    const Estimate& estimate = plan.estimate;
    rows.push_back({{counted(static_cast<long>(i + 1)), significant(estimate.throughput()),
                     money(estimate.cost_per_iteration().value()), money(estimate.cost_per_hour.value()),
                     percent(estimate.expected_loss.ratio()), counted(gpu_count(plan.plan)),
                     counted(static_cast<long>(plan.plan.stages.size())), counted(plan.plan.microbatch_size),
                     plan.is_chosen ? "chosen" : plan.reason},
                    plan.is_chosen ? "chosen" : ""});
  }
  return table({{"Plan"},
                {"iterations/s", true},
                {"$/iteration", true},
                {"$/hour", true},
                {"expected loss", true},
                {"GPUs", true},
                {"stages", true},
                {"microbatch", true},
                {"Compared with the chosen plan"}},
               rows);
}

}  // namespace

Element plan_choice(const PlanView& view, const PlannedJob& planned, const PlanOptions& options) {
  const JobSpec& job = view.job;
  const std::vector<ComparedPlan> all = compared_plans(job, planned, options);
  Element section("section");
  section.add(Element("p").text(question_text(job, planned, options)));
  section.add(Element("p").text(bound_text(job, planned)));
  if (const std::string text = fast_estimate_text(planned, view.estimate); !text.empty())
    section.add(Element("p").text(text));
  section.add(legend({{"green", "the chosen plan"}, {"blue", "other plans"}, {"red", "limits and bound"}}));
  section.add(figure(
      all.size() > 1 ? fmt::format("No plan in this chart is both faster and cheaper than another one{}. Plans further "
                                   "to the right are faster; plans further down are cheaper.",
                                   counts_losses(job) ? " once its expected loss is added" : "")
                     : "The search found no plan that is faster or cheaper than this one.",
      pareto_chart(job, all, planned.bound_throughput)));
  section.add(figure("", plan_table(all)));
  return section;
}

}  // namespace sailor::report
