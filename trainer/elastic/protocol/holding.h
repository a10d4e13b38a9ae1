// Holding: what a worker reports of its state at a rendezvous. All holdings together determine where a generation
// resumes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

struct Holding {
  StateVersion version;
  // Ascending ids of transfer units; set after the slices of all workers are known, not in the line.
  std::vector<int> units;
  double loss = 0;           // of the step of the version
  double next_loss = 0;      // of the next step, if the version has gradients
  std::int64_t reached = 0;  // the step of the version, or one more if the worker was interrupted within the next step
  double first_loss = 0;     // of the first step of the job; 0: not known here
  double stopped_seconds = 0;  // since the last step of this worker; 0: no step was done
  friend bool operator==(const Holding&, const Holding&) = default;
};

std::string to_line(const Holding& holding);
Result<Holding> holding_from_line(const std::string& line);

// A state of which the memory of all workers together has all units.
struct ResumePoint {
  std::int64_t confirmed = 0;  // the newest generation that trained from it, or computed the gradients that lead to it
  std::int64_t step = 0;
  std::int64_t updated_by = 0;  // the generation whose gradients led to it
  friend auto operator<=>(const ResumePoint&, const ResumePoint&) = default;
};

// The newest state of which some worker has each unit, either directly or as the state before it with complete
// gradients. Gradients count only if all workers of their generation have them. In that case all have voted and some
// worker may have applied the step, so all remaining workers apply it. If one worker lacks its gradients, no worker has
// applied the step, and the step is repeated. Returns nothing if a unit is lost or if no worker has trained yet.
std::optional<ResumePoint> resume_point(const std::vector<int>& all_units, const std::vector<Holding>& holdings);

// True if the units of the worker are of this point, perhaps after applying its gradients.
bool can_offer(const Holding& holding, const ResumePoint& point);

// The units that each worker offers, by rank.
std::vector<std::vector<int>> offers(const std::vector<Holding>& holdings, const ResumePoint& point);

// The number of steps whose work is lost by resuming from this step.
std::int64_t steps_lost(const std::vector<Holding>& holdings, std::int64_t resumed_step);

}  // namespace sailor::trainer
