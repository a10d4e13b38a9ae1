// StateReport: what a worker reports about its state at the rendezvous of a new generation. All state reports together
// determine the resume point, that is, the step at which the generation resumes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

struct StateReport {
  StateVersion version;
  // The ids of the transfer units that the worker has, ascending. The line does not contain them; they follow from the
  // slices of all workers.
  std::vector<int> units;
  double loss = 0;           // loss of the step of the version
  double next_loss = 0;      // loss of the next step, if the version has gradients
  std::int64_t reached = 0;  // the step of the version, or one more if the worker was interrupted within the next step
  double first_loss = 0;     // loss of the first step of the job; 0: not known here
  double stopped_seconds = 0;  // time since the last step of this worker; 0: no step was done
  friend bool operator==(const StateReport&, const StateReport&) = default;
};

std::string to_line(const StateReport& report);
Result<StateReport> state_report_from_line(const std::string& line);

// The version of a state from which a generation can resume, because the workers together have all its units.
struct ResumePoint {
  // The newest generation that trained from this state or computed the gradients that lead to it.
  std::int64_t confirmed = 0;
  std::int64_t step = 0;
  std::int64_t updated_by = 0;  // the generation whose gradients led to it
  // No state report shows that the next step was not applied: no worker that voted in `confirmed` is known to lack the
  // gradients of it. A worker that is not at the rendezvous may have applied it.
  bool may_be_behind = false;
  friend auto operator<=>(const ResumePoint&, const ResumePoint&) = default;
};

// Returns the newest state whose units all exist in the memory of some worker. A worker has a unit of a state if it has
// the unit itself, or if it has the unit at the step before and complete gradients. Gradients count only if all
// state reports of their generation have them. In that case a worker may have applied the step already, so all
// remaining workers apply it too. If one worker lacks its gradients, no worker has applied the step, and the step is
// repeated. A worker whose version may be behind does not count, because no vote needed it. Returns nothing if a unit
// is lost or if no worker has trained yet.
std::optional<ResumePoint> resume_point(const std::vector<int>& all_units, const std::vector<StateReport>& reports);

// Returns true if the worker's state is the state of this point, or becomes it when the worker applies its gradients.
bool can_offer(const StateReport& report, const ResumePoint& point);

// Returns the units that each worker can send at this point, by rank.
std::vector<std::vector<int>> offers(const std::vector<StateReport>& reports, const ResumePoint& point);

// Returns the number of steps whose work is lost if the generation resumes at this step.
std::int64_t steps_lost(const std::vector<StateReport>& reports, std::int64_t resumed_step);

}  // namespace sailor::trainer
