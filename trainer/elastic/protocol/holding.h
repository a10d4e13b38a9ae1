// Holding: what a worker brings to a meeting. And where a generation goes on from, which follows from all holdings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

struct Holding {
  Account account;
  std::vector<int> units;      // ascending ids, given once it is known what all hold: not in the line
  double loss = 0;             // of the account's step
  double next_loss = 0;        // of the step after it, where the account has gradients
  std::int64_t reached = 0;    // the step it was at: the account's, or one more if it was cut off within it
  double first_loss = 0;       // of the job's first step, if known here
  double stopped_seconds = 0;  // since the last step here; 0: there was none
  friend bool operator==(const Holding&, const Holding&) = default;
};

std::string to_line(const Holding& holding);
Result<Holding> holding_from_line(const std::string& line);

// A state of which memory has all units.
struct ResumePoint {
  std::int64_t confirmed = 0;  // the newest generation that trained from it, or with the gradients that lead to it
  std::int64_t step = 0;
  std::int64_t updated_by = 0;  // the generation whose gradients led to it
  friend auto operator<=>(const ResumePoint&, const ResumePoint&) = default;
};

// The newest state of which every unit is held by somebody: as it is, or with complete gradients of the step to it.
// Gradients count only if all who trained with them have them: then somebody may have applied the step, for all have
// voted, and so all who are left apply it. If one has not, nobody has, and the step is done again.
// Nothing: some unit is lost, or nobody has trained yet.
std::optional<ResumePoint> resume_point(const std::vector<int>& all_units, const std::vector<Holding>& holdings);

// True if the worker's units are of this point, perhaps after applying the gradients that it holds.
bool can_offer(const Holding& holding, const ResumePoint& point);

// What each worker offers, by rank.
std::vector<std::vector<int>> offers(const std::vector<Holding>& holdings, const ResumePoint& point);

// Steps whose work is thrown away by going on from this step.
std::int64_t steps_lost(const std::vector<Holding>& holdings, std::int64_t resumed_step);

}  // namespace sailor::trainer
