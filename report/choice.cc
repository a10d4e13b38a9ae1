#include "report/choice.h"

#include <fmt/format.h>

#include "report/figure.h"
#include "report/front_chart.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

std::string space_text(PlanSpace space) {
  return space == PlanSpace::kPaper ? "plans with equal replicas and layers in every stage (the space paper)"
                                    : "plans of any shape (the space flow)";
}

std::string asked(const JobSpec& job, const PlannedJob& planned, const PlanOptions& options) {
  std::string text = fmt::format("Asked for: {}, among {}. ", objective_text(job.objective), space_text(options.space));
  text += fmt::format("{} were weighed in {}", counted(planned.search.candidates, "candidate"),
                      duration(planned.search.elapsed));
  if (planned.search.pruned_by_memory > 0) {
    text += fmt::format("; {} had too little memory", counted(planned.search.pruned_by_memory));
  }
  text += planned.search.was_cut_short ? ". The search was cut short: a longer one might find a better plan." : ".";
  if (options.current && *options.current == planned.plan) {
    text += fmt::format(" This is the plan that runs now: no other is better by {}, for which a running job is moved.",
                        percent(kWorthwhileGain));
  }
  return text;
}

// The search compares plans by figures that take microseconds.
std::string compared_by(const PlannedJob& planned, const Estimate& exact) {
  if (exact.iteration == planned.estimate.iteration) return "";
  return fmt::format(
      "The search compares plans by a fast estimate: {} an iteration for this one, where playing it operation by "
      "operation gives {}, as in the rest of this page.",
      duration(planned.estimate.iteration), duration(exact.iteration));
}

std::string certificate(const PlannedJob& planned) {
  return fmt::format(
      "How good it is: it is proved that no plan does more than {} iterations/s here by the search's figures; this one "
      "reaches {} of that. Whether a plan between the two exists is not known.",
      significant(planned.bound_throughput), percent(planned.bound_ratio()));
}

Element offer_table(const std::vector<Offer>& offers) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const Offer& offer = offers[i];
    const Estimate& estimate = offer.estimate;
    rows.push_back({{counted(static_cast<long>(i + 1)), significant(estimate.throughput()),
                     money(estimate.cost_per_iteration().value()), money(estimate.cost_per_hour.value()),
                     counted(gpu_count(offer.plan)), counted(static_cast<long>(offer.plan.stages.size())),
                     counted(offer.plan.microbatch_size), offer.is_chosen ? "chosen" : offer.why_not},
                    offer.is_chosen ? "chosen" : ""});
  }
  return table({{"Plan"},
                {"iterations/s", true},
                {"$/iteration", true},
                {"$/hour", true},
                {"GPUs", true},
                {"stages", true},
                {"microbatch", true},
                {"Against the chosen one"}},
               rows);
}

}  // namespace

Element choice(const PlanView& view, const PlannedJob& planned, const PlanOptions& options) {
  const JobSpec& job = view.job;
  const std::vector<Offer> all = offers(job, planned, options);
  Element section("section");
  section.add(Element("p").text(asked(job, planned, options)));
  section.add(Element("p").text(certificate(planned)));
  if (const std::string text = compared_by(planned, view.estimate); !text.empty()) section.add(Element("p").text(text));
  section.add(legend({{"green", "the chosen plan"}, {"blue", "runners-up"}, {"red", "limits and bound"}}));
  section.add(figure(all.size() > 1 ? "Of these plans none is both faster and cheaper than another; to the right is "
                                      "faster, further down is cheaper."
                                    : "No other plan is faster or cheaper than this one.",
                     front_chart(job, all, planned.bound_throughput)));
  section.add(figure("", offer_table(all)));
  return section;
}

}  // namespace sailor::report
