// `sailor replay`: simulates a job over a trace of available nodes.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "planner/replay/replay.h"

namespace sailor::cli {

enum class PolicyChoice { kOfJob, kLive, kRestart, kStatic, kVaruna, kOracle, kAll };

struct ReplayArguments {
  Inputs inputs;
  std::vector<std::string> traces;             // "FILE", or "POOL=FILE"
  std::vector<std::string> prices;             // likewise
  PolicyChoice policy = PolicyChoice::kOfJob;  // by default, the policy of the job's elasticity mode
  // Becomes that of `options`. Absent: as the job says if `policy` is kOfJob, kAuto for kAll, and otherwise kOff.
  std::optional<LookAhead> look_ahead;
  ReplayOptions options;
  Format format = Format::kTable;
};

// Writes to `notes` which pools are left out.
Result<void> run_replay(const ReplayArguments& arguments, std::ostream& out, std::ostream& notes);

}  // namespace sailor::cli
