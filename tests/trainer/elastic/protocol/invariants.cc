// What must be true in the explored world, whatever has happened.
#include <algorithm>

#include <fmt/format.h>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {

// One step for which those had voted who have left since may still be finished, by somebody who was cut off or frozen
// within it: to a state that nobody takes. A second one never.
void Explorer::note_vote(World& world, int generation, int step) const {
  Meeting& group = world.meetings[static_cast<std::size_t>(generation)];
  if (!have_all(group, group.voting, step) || world.history.newest_confirmed <= generation) return;
  if (group.has_finished_late != 0) complain_("two generations train at the same time");
  group.has_finished_late = 1;
}

void Explorer::note_applied(History& history, std::uint8_t step, std::uint8_t generation) const {
  if (history.newest_confirmed > generation) {
    if (is_alone(generation)) complain_("a generation trains on without its lease while another trains");
    return;
  }
  std::uint8_t& by = history.applied[step];
  if (by != 0 && by != generation) complain_(fmt::format("step {} was applied by two generations", step));
  by = generation;
}

void Explorer::note_confirmed(History& history, int id) const {
  const Worker& worker = at(id);
  if (worker.generation < history.newest_confirmed) return;  // too late: it will find its peers gone
  history.newest_confirmed = worker.generation;
  // Whoever has more is not at this meeting, or the check of meetings complains.
  if (worker.step != kCheckpointStep) history.applied[worker.step] = worker.updated_by;
  for (std::size_t step = worker.step + 1U; step <= kLastStep; ++step) history.applied[step] = 0;
}

// Going back is allowed only where the newest step, applied by anybody ever, is not all in the memory of those who
// meet.
void Explorer::check_nothing_is_thrown_away(int generation, const Agreement& agreement) const {
  const Meeting& group = meeting(generation);
  for (int id = 0; id < kWorkers; ++id) {
    if (has(group.members, id) && at(id).generation > generation) return;  // nothing comes of this meeting
  }
  std::int64_t newest = kCheckpointStep;
  for (std::size_t step = 0; step <= kLastStep; ++step) {
    if (from_.history.applied[step] != 0) newest = std::max(newest, static_cast<std::int64_t>(step));
  }
  Mask held = 0;
  for (int id = 0; id < kWorkers; ++id) {
    if (!has(group.members, id) || newest == kCheckpointStep) continue;
    const Holding& holding = agreement.holdings[static_cast<std::size_t>(id)];
    const std::int64_t by = from_.history.applied[static_cast<std::size_t>(newest)];
    if (!can_offer(holding, {.step = newest, .updated_by = by})) continue;
    held = static_cast<Mask>(held | (group.holdings[static_cast<std::size_t>(id)] & kAllSlices));
  }
  if (held == kAllSlices && agreement.point.step < newest) complain_("state that memory holds was thrown away");
}

}  // namespace sailor::trainer::exploration
