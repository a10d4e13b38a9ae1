// Real runs of Sailor's authors as plans: the folder that `sailor evaluate` reads.
#pragma once

#include <filesystem>
#include <vector>

#include "simulator/measured_run.h"

namespace sailor::cli {

struct RunRecord {
  std::string file;  // its name
  Result<MeasuredRun> run;
};

// Every JSON file, in the order of names. A record that is corrupt (kInvalidArgument) or of no plan (kInfeasible) has
// its error; the others are read all the same.
Result<std::vector<RunRecord>> read_runs(const std::filesystem::path& folder);

// What is wrong with the measurement itself; empty: nothing that we know of. Such runs are shown, not counted.
struct Suspicion {
  std::string_view time;
  std::string_view memory;
};
Suspicion suspicion_of(std::string_view file);

}  // namespace sailor::cli
