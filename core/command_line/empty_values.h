#pragma once

#include <CLI/App.hpp>

namespace sailor {

// Makes every option of the program and of its commands refuse an empty value. A variable that a script has not set
// would otherwise count as an option that is not given, or as a file without name.
void refuse_empty_values(CLI::App& app);

}  // namespace sailor
