// The commands of `sailor`. They write results to `out` and return failures as errors, whose code determines the exit
// status.
#pragma once

#include <iosfwd>
#include <stop_token>

#include "cli/options.h"

namespace sailor::cli {

// After a stop request the result is the best plan found so far.
Result<void> run_plan(const PlanArguments& arguments, std::ostream& out, std::stop_token stop = {});
Result<void> run_simulate(const SimulateArguments& arguments, std::ostream& out);

// Writes the errors of all files to `errors`, one a line, and the names of valid files to `out`. Fails if there was an
// error.
Result<void> run_validate(const std::vector<std::string>& files, std::ostream& out, std::ostream& errors);

// 0: success, 1: internal error, 2: bad input, 3: no feasible plan.
int exit_status(const Error& error);

}  // namespace sailor::cli
