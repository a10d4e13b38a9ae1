#include "report/paper_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"
#include "report/page_frame.h"
#include "report/paper_tables.h"

namespace sailor::report {
namespace {

using paper::CaseResult;
using paper::ExperimentResult;
using paper::Measure;
using paper::PlanResult;

constexpr double kNames = 250;  // where the bars begin
constexpr double kNumbers = 90;
constexpr double kBar = 18;    // the height of a plan's two bars
constexpr double kTitle = 20;  // the height of a case's name

double most_throughput(const ExperimentResult& result) {
  double most = 0;
  for (const CaseResult& one : result.cases) {
    for (const PlanResult& plan : one.plans) {
      most = std::max(most, plan.by_paper ? plan.by_paper->throughput : 0);
      most = std::max(most, plan.by_trainer ? plan.by_trainer->throughput : 0);
    }
  }
  return most;
}

void draw_plan(const PlanResult& plan, double y, const Scale& scale, Element& svg) {
  svg.add(label({kNames - 8, y + 12}, plan.planner, "end"));
  if (!plan.by_paper || !plan.by_trainer) {
    svg.add(label({kNames, y + 12}, "no plan", "soft"));
    return;
  }
  const double by_paper = plan.by_paper->throughput;
  const double by_trainer = plan.by_trainer->throughput;
  const std::string text = fmt::format("{}: {} by sailor-paper, {} by trainer, in iterations/s", plan.planner,
                                       significant(by_paper), significant(by_trainer));
  Element bars("g");
  bars.add(tooltip(text))
      .add(rectangle({kNames, y + 1, scale.at(by_paper) - kNames, 9}, plan.recorded ? "grey" : "blue"))
      .add(rectangle({kNames, y + 11, scale.at(by_trainer) - kNames, 4}, "green"));
  svg.add(bars);
  svg.add(label({scale.at(std::max(by_paper, by_trainer)) + 6, y + 12}, significant(by_paper), "soft"));
}

// Bars of the throughput of every plan, case by case.
Element throughput_chart(const ExperimentResult& result) {
  double height = 0;
  for (const CaseResult& one : result.cases) height += kTitle + kBar * static_cast<double>(one.plans.size()) + 6;
  const Scale scale(0, std::max(most_throughput(result), 1e-9), kNames, kPictureWidth - kNumbers);
  Element svg = picture(height, result.experiment->name + ": throughput of every plan");
  double y = 0;
  for (const CaseResult& one : result.cases) {
    svg.add(label({0, y + 14}, one.name, "strong"));
    y += kTitle;
    for (const PlanResult& plan : one.plans) {
      draw_plan(plan, y, scale, svg);
      y += kBar;
    }
    y += 6;
  }
  return svg;
}

bool is_about_search(const ExperimentResult& result) {
  return std::ranges::all_of(result.claims, [](const paper::ClaimResult& claim) {
    return claim.claim.measure == Measure::kSearch || claim.claim.measure == Measure::kNone;
  });
}

Element as_element(const TextTable& content) { return table(content.columns, content.rows); }

Element notes_list(const std::vector<std::string>& notes) {
  Element list("ul", {{"class", "small"}});
  for (std::size_t i = 0; i < notes.size(); ++i) {
    list.add(Element("li").text(fmt::format("({}) {}", i + 1, notes[i])));
  }
  return list;
}

Element section_of(const ExperimentResult& result) {
  const paper::Experiment& experiment = *result.experiment;
  Element section("section", {{"id", "experiment-" + experiment.id}});
  section.add(Element("h2").text(experiment.name + ": " + experiment.title));
  section.add(Element("p").text(experiment.shows));
  if (!experiment.note.empty()) section.add(Element("p", {{"class", "soft small"}}).text(experiment.note));
  section.add(figure("", as_element(claims_table(result))));
  if (const std::string differences = differences_text(result); !differences.empty()) {
    section.add(Element("p").text(differences));
  }
  if (result.cases.empty()) return section;
  if (!is_about_search(result)) {
    section.add(figure("Throughput of every plan, in iterations per second; the number is that by sailor-paper.",
                       throughput_chart(result)));
  }
  const TextTable plans = plans_table(result);
  section.add(figure("Every plan, by the paper's simulator where recorded, and by ours.", as_element(plans)));
  if (!plans.notes.empty()) section.add(notes_list(plans.notes));
  return section;
}

Element explanation() {
  Element list("ul");
  list.add(Element("li").text(
      "Paper: a number in the paper's text. A dash: the paper's text has none, or no plan was recorded."));
  list.add(Element("li").text("Sailor, recorded: the plan of Sailor's public planner, by its own simulator."));
  list.add(
      Element("li").text("Ours, paper: planned and simulated by us in the plan space paper with the execution "
                         "model sailor-paper, which computes the paper's formula. This is the like-for-like "
                         "comparison."));
  list.add(Element("li").text("Ours, flow: the same in the plan space flow, with unequal stages and replicas."));
  list.add(
      Element("li").text("Ours, trainer: planned and simulated with the execution model trainer, which "
                         "describes this project's trainer."));
  list.add(Element("li").text(
      "Factors over another planner: both plans by trainer in that column. In the others, the other planner's plan "
      "counts as recorded, because our simulator prices some of them otherwise: plans with unequal numbers of "
      "replicas, "
      "which the paper's formula does not describe, and plans with a stage in two regions."));
  list.add(Element("li").text("Within a tenth counts as agreement, and so does a smaller error of estimates."));
  for (const std::string& assumption : paper::evaluation().assumptions) list.add(Element("li").text(assumption));
  return list;
}

Element not_reproduced() {
  Element list("ul");
  for (const paper::NotReproduced& one : paper::evaluation().not_reproduced) {
    list.add(Element("li").text(one.name + ": " + one.reason));
  }
  return list;
}

Element contents(const std::vector<ExperimentResult>& results) {
  Element list("ul");
  for (const ExperimentResult& result : results) {
    const paper::Experiment& experiment = *result.experiment;
    list.add(Element("li").add(
        Element("a", {{"href", "#experiment-" + experiment.id}}).text(experiment.name + ": " + experiment.title)));
  }
  return list;
}

}  // namespace

std::string paper_page(const std::vector<ExperimentResult>& results) {
  const std::string title = "The Sailor paper's evaluation, simulated";
  Element body("body");
  body.add(Element("h1").text(title)).add(Element("p").text(paper::evaluation().source + "."));
  body.add(Element("h2").text("In short")).add(Element("p").text(summary_text(results)));
  body.add(figure(
      "Values that both have, search times left out. Ours is that in the paper's plan space by its model, or the "
      "error of our estimates of measured runs; it decides whether the two agree.",
      as_element(summary_table(results))));
  body.add(contents(results)).add(Element("h2").text("How to read the tables")).add(explanation());
  body.add(legend({{"blue", "our plan, by sailor-paper"},
                   {"grey", "a recorded plan, by sailor-paper"},
                   {"green", "the same plan, by trainer"}}));
  for (const ExperimentResult& result : results) body.add(section_of(result));
  body.add(Element("h2").text("What a simulation cannot repeat")).add(not_reproduced());
  return page(title, body);
}

}  // namespace sailor::report
