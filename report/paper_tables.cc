#include "report/paper_tables.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/numbers.h"

namespace sailor::report {
namespace {

using paper::CaseResult;
using paper::Claim;
using paper::ClaimResult;
using paper::ClaimValue;
using paper::ExperimentResult;
using paper::Outcome;
using paper::PlanResult;
using paper::Published;

constexpr std::array<std::string_view, paper::kColumns> kColumnNames = {"Sailor, recorded", "Ours, paper", "Ours, flow",
                                                                        "Ours, trainer", "Our estimate"};
const std::string kNothing = "-";

std::string number_text(const Claim& claim, double number) {
  return claim.is_percent ? significant(100 * number) + " %" : significant(number);
}

std::string value_text(const Claim& claim, const ClaimValue& value) {
  if (value.number) return number_text(claim, *value.number);
  return value.text.empty() ? kNothing : value.text;
}

std::string published_text(const Claim& claim) {
  const Published& published = claim.published;
  if (!published.range) return published.text.empty() ? kNothing : published.text;
  const auto& [low, high] = *published.range;
  if (published.is_limit) return "< " + number_text(claim, high);
  return low == high ? number_text(claim, high)
                     : fmt::format("{} to {}", number_text(claim, low), number_text(claim, high));
}

bool has_values(const ExperimentResult& result, std::size_t column) {
  return std::ranges::any_of(result.claims, [&](const ClaimResult& claim) { return !claim.values[column].is_empty(); });
}

bool has_recorded_plans(const ExperimentResult& result) {
  return std::ranges::any_of(result.cases, [](const CaseResult& one) {
    return std::ranges::any_of(one.plans, [](const PlanResult& plan) { return plan.recorded.has_value(); });
  });
}

void add_outcome(const std::optional<Outcome>& outcome, std::vector<std::string>& cells) {
  cells.push_back(outcome ? significant(outcome->throughput) : kNothing);
  cells.push_back(outcome ? money(outcome->cost.value()) : kNothing);
}

// Returns the number of the note, which several rows may share.
std::string number_of_note(const std::string& note, std::vector<std::string>& notes) {
  auto at = std::ranges::find(notes, note);
  if (at == notes.end()) at = notes.insert(notes.end(), note);
  return fmt::format("({})", at - notes.begin() + 1);
}

std::string fits_text(const PlanResult& plan, std::vector<std::string>& notes) {
  if (!plan.by_paper) return "no plan " + number_of_note(plan.failure, notes);
  const std::string& violation = plan.by_paper->violation;
  return violation.empty() ? "yes" : "no " + number_of_note(violation, notes);
}

Row plan_row(const CaseResult& one, const PlanResult& plan, bool with_recorded, std::vector<std::string>& notes) {
  Row row{{&plan == &one.plans.front() ? one.name : "", plan.planner}};
  if (with_recorded) add_outcome(plan.recorded, row.cells);
  add_outcome(plan.by_paper, row.cells);
  add_outcome(plan.by_trainer, row.cells);
  row.cells.push_back(plan.gpus.empty() ? kNothing : paper::gpus_text(plan.gpus));
  row.cells.push_back(fits_text(plan, notes));
  row.cells.push_back(plan.search ? significant(plan.search->value(), 2) : kNothing);
  if (plan.planner.starts_with("ours")) row.classes = "chosen";
  return row;
}

// Search times say more about machines than about plans.
bool is_in_summary(const ClaimResult& claim) {
  return claim.is_compared() && claim.claim.measure != paper::Measure::kSearch;
}

}  // namespace

TextTable summary_table(const std::vector<ExperimentResult>& results) {
  TextTable table{{{"Experiment"},
                   {"Claim"},
                   {"Paper", true},
                   {"Sailor, recorded", true},
                   {"Ours", true},
                   {"Ours, trainer", true},
                   {"Agree"}},
                  {},
                  {}};
  for (const ExperimentResult& result : results) {
    for (const ClaimResult& claim : result.claims) {
      if (!is_in_summary(claim)) continue;
      table.rows.push_back(
          {{result.experiment->name, claim.claim.text, published_text(claim.claim),
            value_text(claim.claim, claim.at(paper::Column::kRecorded)), value_text(claim.claim, claim.comparable()),
            value_text(claim.claim, claim.at(paper::Column::kTrainer)), claim.differs() ? "no" : "yes"}});
    }
  }
  return table;
}

std::string summary_text(const std::vector<ExperimentResult>& results) {
  long compared = 0;
  long agreeing = 0;
  for (const ExperimentResult& result : results) {
    for (const ClaimResult& claim : result.claims) {
      if (!is_in_summary(claim)) continue;
      ++compared;
      agreeing += claim.differs() ? 0 : 1;
    }
  }
  return fmt::format("{} of {} compared values agree within a tenth with the paper's.", counted(agreeing),
                     counted(compared));
}

TextTable claims_table(const ExperimentResult& result) {
  TextTable table{{{"Claim"}, {"Paper", true}}, {}, {}};
  for (std::size_t i = 0; i < paper::kColumns; ++i) {
    if (has_values(result, i)) table.columns.push_back({std::string(kColumnNames[i]), true});
  }
  for (const ClaimResult& claim : result.claims) {
    Row row{{claim.claim.text, published_text(claim.claim)}};
    for (std::size_t i = 0; i < paper::kColumns; ++i) {
      if (has_values(result, i)) row.cells.push_back(value_text(claim.claim, claim.values[i]));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

TextTable plans_table(const ExperimentResult& result) {
  const bool with_recorded = has_recorded_plans(result);
  TextTable table{{{"Case"}, {"Plan of"}}, {}, {}};
  const auto add = [&](const std::string& model) {
    table.columns.push_back({model + ": it/s", true});
    table.columns.push_back({"$/it", true});
  };
  if (with_recorded) add("recorded");
  add("sailor-paper");
  add("trainer");
  table.columns.insert(table.columns.end(), {{"GPUs"}, {"Fits"}, {"Search, s", true}});
  for (const CaseResult& one : result.cases) {
    for (const PlanResult& plan : one.plans) {
      table.rows.push_back(plan_row(one, plan, with_recorded, table.notes));
    }
  }
  return table;
}

std::string differences_text(const ExperimentResult& result) {
  std::string text;
  for (const ClaimResult& claim : result.claims) {
    if (!claim.differs()) continue;
    text += fmt::format("{}{}: {} instead of {}", text.empty() ? "Differs: " : "; ", claim.claim.text,
                        value_text(claim.claim, claim.comparable()), published_text(claim.claim));
  }
  if (text.empty()) return "";
  return text + (result.experiment->why.empty() ? "." : ". " + result.experiment->why);
}

}  // namespace sailor::report
