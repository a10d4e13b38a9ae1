#include "cli/paper_output.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/tables.h"
#include "report/paper_tables.h"

namespace sailor::cli {
namespace {

using nlohmann::json;
using paper::Column;
using paper::ExperimentResult;

json value_json(const paper::ClaimValue& value) {
  if (value.number) return *value.number;
  return value.text.empty() ? json() : json(value.text);
}

json published_json(const paper::Published& published) {
  if (!published.range) return published.text.empty() ? json() : json(published.text);
  const auto& [low, high] = *published.range;
  if (published.is_limit) return {{"below", high}};
  if (low == high) return high;
  return {{"from", low}, {"to", high}};
}

json claim_json(const paper::ClaimResult& claim) {
  return {{"claim", claim.claim.text},
          {"paper", published_json(claim.claim.published)},
          {"recorded", value_json(claim.at(Column::kRecorded))},
          {"oursPaper", value_json(claim.at(Column::kPaperSpace))},
          {"oursFlow", value_json(claim.at(Column::kFlowSpace))},
          {"oursTrainer", value_json(claim.at(Column::kTrainer))},
          {"estimate", value_json(claim.at(Column::kMeasured))},
          {"differs", claim.differs()}};
}

json outcome_json(const std::optional<paper::Outcome>& outcome) {
  if (!outcome) return {};
  return {{"iterationsPerSecond", outcome->throughput}, {"dollarsPerIteration", outcome->cost.value()}};
}

json plan_json(const paper::PlanResult& plan) {
  json gpus = json::object();
  for (const auto& [pool, count] : plan.gpus) gpus[to_string(pool)] = count;
  json result{{"planner", plan.planner},
              {"recorded", outcome_json(plan.recorded)},
              {"sailorPaper", outcome_json(plan.by_paper)},
              {"trainer", outcome_json(plan.by_trainer)},
              {"searchSeconds", plan.search ? json(plan.search->value()) : json()},
              {"gpus", std::move(gpus)}};
  if (!plan.failure.empty()) result["failure"] = plan.failure;
  if (plan.by_paper && !plan.by_paper->violation.empty()) result["doesNotFit"] = plan.by_paper->violation;
  return result;
}

json experiment_json(const ExperimentResult& result) {
  json all{{"id", result.experiment->id},
           {"name", result.experiment->name},
           {"title", result.experiment->title},
           {"claims", json::array()},
           {"cases", json::array()},
           {"differences", report::differences_text(result)}};
  for (const paper::ClaimResult& claim : result.claims) all["claims"].push_back(claim_json(claim));
  for (const paper::CaseResult& one : result.cases) {
    json plans = json::array();
    for (const paper::PlanResult& plan : one.plans) plans.push_back(plan_json(plan));
    all["cases"].push_back({{"name", one.name}, {"plans", std::move(plans)}});
  }
  return all;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string as_text(const report::TextTable& content) {
  std::vector<std::vector<std::string>> rows(1);
  for (const report::Column& column : content.columns) rows.front().push_back(upper_case(column.heading));
  for (const report::Row& row : content.rows) rows.push_back(row.cells);
  std::string text = table(rows);
  for (std::size_t i = 0; i < content.notes.size(); ++i) text += fmt::format("({}) {}\n", i + 1, content.notes[i]);
  return text;
}

std::string as_text(const ExperimentResult& result) {
  const paper::Experiment& experiment = *result.experiment;
  std::string text = fmt::format("{}: {}\n{}\n", experiment.name, experiment.title, experiment.shows);
  if (!experiment.note.empty()) text += experiment.note + "\n";
  text += "\n" + as_text(report::claims_table(result));
  if (const std::string differences = report::differences_text(result); !differences.empty()) {
    text += "\n" + differences + "\n";
  }
  if (!result.cases.empty()) text += "\n" + as_text(report::plans_table(result));
  return text;
}

std::string assumptions_text() {
  std::string text;
  for (const std::string& assumption : paper::evaluation().assumptions) text += "* " + assumption + "\n";
  return text;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string as_markdown(const report::TextTable& content) {
  std::vector<std::string> headings;
  std::vector<std::string> lines;
  for (const report::Column& column : content.columns) {
    headings.push_back(column.heading);
    lines.emplace_back(column.is_number ? "--:" : "---");
  }
  std::string text = markdown_row(headings) + markdown_row(lines);
  for (const report::Row& row : content.rows) text += markdown_row(row.cells);
  return text;
}

std::string as_markdown(const ExperimentResult& result) {
  const paper::Experiment& experiment = *result.experiment;
  std::string text = fmt::format("### {}: {}\n\n{}", experiment.name, experiment.title, experiment.shows);
  if (!experiment.note.empty()) text += " " + experiment.note;
  text += "\n\n" + as_markdown(report::claims_table(result));
  if (const std::string differences = report::differences_text(result); !differences.empty()) {
    text += "\n" + differences + "\n";
  }
  return text + "\n";
}

}  // namespace

json paper_json(const std::vector<ExperimentResult>& results) {
  json all{{"source", paper::evaluation().source},
           {"assumptions", paper::evaluation().assumptions},
           {"experiments", json::array()},
           {"notReproduced", json::array()}};
  for (const ExperimentResult& result : results) all["experiments"].push_back(experiment_json(result));
  for (const paper::NotReproduced& one : paper::evaluation().not_reproduced) {
    all["notReproduced"].push_back({{"name", one.name}, {"reason", one.reason}});
  }
  return all;
}

std::string paper_table(const std::vector<ExperimentResult>& results) {
  std::string text = paper::evaluation().source + "\n" + assumptions_text() + "\n";
  for (const ExperimentResult& result : results) text += as_text(result) + "\n";
  text += fmt::format("Summary: {}\n\n{}\n", report::summary_text(results), as_text(report::summary_table(results)));
  text += "Not reproduced\n";
  for (const paper::NotReproduced& one : paper::evaluation().not_reproduced) {
    text += fmt::format("{}: {}\n", one.name, one.reason);
  }
  return text;
}

std::string paper_markdown(const std::vector<ExperimentResult>& results) {
  std::string text = fmt::format("### Assumptions\n\n{}\n### Summary\n\n{}\n\n{}\n", assumptions_text(),
                                 report::summary_text(results), as_markdown(report::summary_table(results)));
  for (const ExperimentResult& result : results) text += as_markdown(result);
  text += "### Not reproduced\n\n";
  for (const paper::NotReproduced& one : paper::evaluation().not_reproduced) {
    text += fmt::format("* {}: {}\n", one.name, one.reason);
  }
  return text;
}

}  // namespace sailor::cli
