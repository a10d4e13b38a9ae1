// Compares the simulator with measured runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "core/model/error.h"

namespace sailor::cli {

struct Comparison {
  double measured = 0;
  double estimated = 0;
  std::string flaw;  // why the measurement is excluded from the summary; empty: it is included

  [[nodiscard]] double error_percent() const { return 100 * (estimated / measured - 1); }
};

struct EvaluatedRun {
  std::string file;
  std::string group;          // hardware and model
  std::string reason;         // why there is no estimate; empty if there is one
  bool is_bad_input = false;  // the reason is bad input; otherwise the record does not describe a plan of Sailor
  std::optional<Comparison> time;
  std::optional<Comparison> memory;
};

// Returns every record of the folder, sorted by name. Fails if the folder or the measurements cannot be read.
Result<std::vector<EvaluatedRun>> evaluated_runs(const EvaluateArguments& arguments);

// Fails if a record is corrupt or a profile is missing.
Result<void> check_all_estimated(const std::vector<EvaluatedRun>& runs);

}  // namespace sailor::cli
