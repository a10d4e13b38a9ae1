#include "report/page.h"

#include <fmt/format.h>

#include "core/model/plan_hash.h"
#include "report/cost_tables.h"
#include "report/gantt.h"
#include "report/memory_bars.h"
#include "report/page_frame.h"
#include "report/paper_comparison.h"
#include "report/plan_choice.h"
#include "report/summary.h"
#include "report/time_bar.h"
#include "report/zone_map.h"

namespace sailor::report {
namespace {

Element heading(const std::string& text) { return Element("h2").text(text); }

void add_plan(const PlanView& view, Element& body) {
  body.add(heading("Where the time goes")).add(time_bar(view.estimate));
  body.add(Element("p").text("The times rest on " + basis_text(view.basis)));
  body.add(heading("Stages")).add(stage_table(view));
  body.add(heading("Timeline of a step")).add(gantt(view)).add(paper_comparison(view));
  body.add(heading("Memory")).add(memory_bars(view));
  body.add(heading("Zones and traffic")).add(zone_map(view));
  body.add(heading("Costs")).add(cost_tables(view));
  body.add(notes(view));
}

Element footer(const PlanView& view) {
  return Element("footer").text(fmt::format("Plan {} of {}. Estimated by the simulator of Sailor.",
                                            plan_hash(view.plan), to_string(view.job.key)));
}

}  // namespace

std::string simulation_page(const PlanView& view) {
  const std::string title = fmt::format("{}: simulated plan", view.job.key.name);
  Element body("body");
  body.add(Element("h1").text(title)).add(verdict(view)).add(plan_in_words(view)).add(key_figures(view));
  add_plan(view, body);
  body.add(footer(view));
  return page(title, body);
}

std::string planning_page(const PlanView& view, const PlannedJob& planned, const PlanOptions& options) {
  const std::string title = fmt::format("{}: plan", view.job.key.name);
  Element body("body");
  body.add(Element("h1").text(title)).add(verdict(view)).add(plan_in_words(view)).add(key_figures(view));
  body.add(heading("Why this plan")).add(plan_choice(view, planned, options));
  add_plan(view, body);
  body.add(footer(view));
  return page(title, body);
}

}  // namespace sailor::report
