// `sailor evaluate`: the simulator against measured runs.
#pragma once

#include <iosfwd>

#include "planner/cli/options.h"

namespace sailor::cli {

// Every run with what was measured, what is estimated and the error; a run that cannot be estimated with its reason.
Result<void> run_evaluate(const EvaluateArguments& arguments, std::ostream& out);

}  // namespace sailor::cli
