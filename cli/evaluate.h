// `sailor evaluate`: the simulator against measured runs.
#pragma once

#include <iosfwd>

#include "cli/options.h"

namespace sailor::cli {

// Every run with what was measured, what is estimated and the error; a run that cannot be estimated with its reason.
// Fails, with all of that in `out` all the same, if a record is corrupt or the profiles lack what a run asks for.
Result<void> run_evaluate(const EvaluateArguments& arguments, std::ostream& out);

}  // namespace sailor::cli
