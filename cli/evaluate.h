// `sailor evaluate`: compares the simulator with measured runs.
#pragma once

#include <iosfwd>

#include "cli/options.h"

namespace sailor::cli {

// Writes the measurement, the estimate and the error of every run, or the reason why a run cannot be estimated. After
// writing all runs it fails if a record is corrupt or a profile is missing.
Result<void> run_evaluate(const EvaluateArguments& arguments, std::ostream& out);

}  // namespace sailor::cli
