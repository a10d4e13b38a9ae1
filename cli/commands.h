// The commands of `sailor`. Results go to `out`; what fails comes back as an error, whose code decides the exit status.
#pragma once

#include <iosfwd>
#include <stop_token>

#include "cli/options.h"

namespace sailor::cli {

// Once stopped, the answer is the best plan so far.
Result<void> run_plan(const PlanArguments& arguments, std::ostream& out, std::stop_token stop = {});
Result<void> run_simulate(const SimulateArguments& arguments, std::ostream& out);

// Errors of all files, one a line, in `out`; fails if there was one.
Result<void> run_validate(const std::vector<std::string>& files, std::ostream& out, std::ostream& errors);

// 0 done, 1 a fault of ours, 2 bad input, 3 no feasible plan.
int exit_status(const Error& error);

}  // namespace sailor::cli
