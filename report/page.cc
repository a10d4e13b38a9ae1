#include "report/page.h"

#include <fmt/format.h>

#include "core/model/plan_hash.h"
#include "report/beside_paper.h"
#include "report/bill.h"
#include "report/choice.h"
#include "report/gantt.h"
#include "report/memory_bars.h"
#include "report/page_frame.h"
#include "report/summary.h"
#include "report/time_bar.h"
#include "report/zone_map.h"

namespace sailor::report {
namespace {

Element heading(const std::string& text) { return Element("h2").text(text); }

void add_plan(const PlanView& view, Element& body) {
  body.add(heading("Where the time goes")).add(time_bar(view.estimate));
  body.add(heading("Stages")).add(stage_table(view));
  body.add(heading("A step of the pipeline")).add(gantt(view)).add(beside_paper(view));
  body.add(heading("Memory")).add(memory_bars(view));
  body.add(heading("Zones and traffic")).add(zone_map(view));
  body.add(heading("The bill")).add(bill(view));
  body.add(notes(view));
}

Element footer(const PlanView& view) {
  return Element("footer").text(fmt::format("Plan {} of {}. Estimates by the simulator of sailor.",
                                            plan_hash(view.plan), to_string(view.job.key)));
}

}  // namespace

std::string simulation_page(const PlanView& view) {
  const std::string title = fmt::format("{}: a plan simulated", view.job.key.name);
  Element body("body");
  body.add(Element("h1").text(title)).add(verdict(view)).add(in_words(view)).add(key_figures(view));
  add_plan(view, body);
  body.add(footer(view));
  return page(title, body);
}

std::string planning_page(const PlanView& view, const PlannedJob& planned, const PlanOptions& options) {
  const std::string title = fmt::format("{}: the plan", view.job.key.name);
  Element body("body");
  body.add(Element("h1").text(title)).add(verdict(view)).add(in_words(view)).add(key_figures(view));
  body.add(heading("Why this plan")).add(choice(view, planned, options));
  add_plan(view, body);
  body.add(footer(view));
  return page(title, body);
}

}  // namespace sailor::report
