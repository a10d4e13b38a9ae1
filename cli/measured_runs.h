// Reads the folder of `sailor evaluate`: the measured runs of Sailor's authors, as plans.
#pragma once

#include <filesystem>
#include <vector>

#include "simulator/measured_run.h"

namespace sailor::cli {

struct RunRecord {
  std::string file;  // name of the file
  Result<MeasuredRun> run;
};

// Reads every JSON file, sorted by name. A record that is corrupt (kInvalidArgument) or does not describe a plan
// (kInfeasible) contains its error; the other records are read nevertheless.
Result<std::vector<RunRecord>> read_runs(const std::filesystem::path& folder);

// Known flaws of a measurement; empty if none is known. Flawed measurements are printed, but excluded from the summary.
struct MeasurementFlaw {
  std::string_view time;
  std::string_view memory;
};
MeasurementFlaw known_flaw_of(std::string_view file);

}  // namespace sailor::cli
