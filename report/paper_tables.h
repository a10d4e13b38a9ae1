// The tables of the paper's experiments, for pages and terminals: claims, and plans.
#pragma once

#include <string>
#include <vector>

#include "report/drawing.h"
#include "report/paper/claims.h"

namespace sailor::report {

struct TextTable {
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;  // sentences that the rows refer to by their number
};

// Every claim of which both the paper and we have a value, but for search times, and whether they agree.
TextTable summary_table(const std::vector<paper::ExperimentResult>& results);
// "18 of 21 compared values agree within a tenth with the paper's."
std::string summary_text(const std::vector<paper::ExperimentResult>& results);

// The paper's values beside ours. A column that would be empty is left out.
TextTable claims_table(const paper::ExperimentResult& result);
// Throughput and cost of every plan by the simulators that are compared.
TextTable plans_table(const paper::ExperimentResult& result);

// What is more than a tenth off the paper's value, and why; empty if nothing is.
std::string differences_text(const paper::ExperimentResult& result);

}  // namespace sailor::report
