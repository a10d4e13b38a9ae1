// What must be true in the explored world, whatever has happened.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {
namespace {

bool is_at(const ResumePoint& point, const ResumePoint& newest) {
  return point.step == newest.step && point.updated_by == newest.updated_by;
}

// Of a state that this generation has trained from, these have all units.
bool hold_all_of(Mask present, const Rendezvous& group, const Agreement& agreement, int generation) {
  std::map<std::pair<std::int64_t, std::int64_t>, Mask> held;  // by step and last update
  for (std::size_t id = 0; id < kWorkers; ++id) {
    const StateVersion& version = agreement.holdings[id].version;
    if (!has(present, static_cast<int>(id)) || version.confirmed != generation) continue;
    Mask& units = held[{version.step, version.updated_by}];
    units = static_cast<Mask>(units | (group.holdings[id] & kAllUnits));
  }
  return std::ranges::any_of(held, [](const auto& state) { return state.second == kAllUnits; });
}

}  // namespace

void Explorer::check(const World& world, int id, const WorkerState& before, const WorkerState& now) {
  if (now.generation < before.generation) report_violation("a worker obeyed an older generation");
  if (now.place == WorkerPlace::kReleased && before.version.updated_by > 0) check_is_safe(world, id, before);
}

// One step for which those had voted who have left since may still be finished, by somebody who was cut off or frozen
// within it: to a state that nobody takes. A second one never.
void Explorer::note_vote(World& world, int generation, int step) {
  Rendezvous& group = world.rendezvous_of[static_cast<std::size_t>(generation)];
  if (!have_all(group, group.voting, step) || world.history.newest_confirmed <= generation) return;
  if (group.has_finished_late != 0) report_violation("two generations train at the same time");
  group.has_finished_late = 1;
}

// A worker with all votes applies the update, and then joining workers that receive its state do. All workers that are
// still in this generation can apply it too. A worker that has left may have agreed with others on another resume
// point.
void Explorer::check_all_can_follow_to(int step, int generation) {
  for (int id = 0; id < kWorkers; ++id) {
    const Worker& worker = at(id);
    const bool has_it = worker.step >= step || (worker.step == step - 1 && worker.has_gradients != 0);
    if (worker.generation == generation && worker.confirmed == generation && !has_it) {
      report_violation("a step is applied that somebody who trained with it cannot follow to");
    }
  }
}

void Explorer::note_applied(World& world, int step, int generation) {
  check_all_can_follow_to(step, generation);
  History& history = world.history;
  const bool is_late = history.newest_confirmed > generation;
  if (is_late && is_alone(from_, generation))
    report_violation("a generation trains on without its lease while another trains");
  if (is_late) return;
  std::uint8_t& by = history.applied[static_cast<std::size_t>(step)];
  if (by != 0 && by != generation) report_violation(fmt::format("step {} was applied by two generations", step));
  by = static_cast<std::uint8_t>(generation);
}

void Explorer::note_confirmed(History& history, const WorkerState& state) {
  if (state.generation < history.newest_confirmed) return;  // too late: it will find its peers gone
  history.newest_confirmed = static_cast<std::uint8_t>(state.generation);
  const auto at_step = static_cast<std::size_t>(state.version.step);
  // Whoever has more is not at this rendezvous, or the check of rendezvous complains.
  if (at_step > 0) history.applied[at_step] = static_cast<std::uint8_t>(state.version.updated_by);
  for (std::size_t step = at_step + 1; step <= kLastStep; ++step) history.applied[step] = 0;
}

// Going back is allowed only where the newest step, applied by anybody ever, is not all in the memory of those who
// meet.
void Explorer::check_nothing_is_thrown_away(int generation, const Agreement& agreement) {
  const Rendezvous& group = rendezvous(generation);
  for (int id = 0; id < kWorkers; ++id) {
    if (has(group.members, id) && at(id).generation > generation) return;  // nothing comes of this rendezvous
  }
  if (agreement.point && agreement.point->step < from_.checkpoint)
    report_violation("a checkpoint's steps were thrown away");
  const auto present = static_cast<Mask>(group.members & ~from_.crashed);  // nothing comes of it without the others
  const int confirmed = from_.history.newest_confirmed;
  if (hold_all_of(present, group, agreement, confirmed) &&
      (!agreement.point || agreement.point->confirmed < confirmed)) {
    report_violation("a state that had been given up was taken up again");
  }
  ResumePoint newest;
  for (std::size_t step = 1; step <= kLastStep; ++step) {
    if (from_.history.applied[step] == 0) continue;
    newest = {.step = static_cast<std::int64_t>(step), .updated_by = from_.history.applied[step]};
  }
  Mask held = 0;
  for (int id = 0; id < kWorkers; ++id) {
    if (!has(present, id) || newest.step == 0) continue;
    if (!can_offer(agreement.holdings[static_cast<std::size_t>(id)], newest)) continue;
    held = static_cast<Mask>(held | (group.holdings[static_cast<std::size_t>(id)] & kAllUnits));
  }
  if (held != kAllUnits) return;
  const bool goes_on = agreement.point && (agreement.point->step > newest.step || is_at(*agreement.point, newest));
  if (!goes_on) report_violation("state that memory holds was thrown away");
}

// The operator's knowledge may be late, but whoever holds state and can be heard is asked for it.
void Explorer::check_holders_are_asked(const std::vector<std::size_t>& taking_part) {
  for (int id = 0; id < kWorkers; ++id) {
    const bool is_asked = std::ranges::find(taking_part, static_cast<std::size_t>(id)) != taking_part.end();
    if (is_asked && has(from_.unreachable, id))
      report_violation("a pod that a peer does not reach is asked to a rendezvous");
    const bool can_be_asked = has(holders(), id) && !has(from_.suspected | from_.stale | from_.unreachable, id);
    if (can_be_asked && !is_asked) report_violation("a worker that holds state takes no part");
  }
}

// Who leaves lets go of a state that a checkpoint has, or the others of the generation.
void Explorer::check_is_safe(const World& world, int id, const WorkerState& before) {
  const Rendezvous& group = rendezvous(static_cast<int>(before.generation));
  Mask held = 0;
  for (int other = 0; other < kWorkers; ++other) {
    if (other != id && has(group.moved, other))
      held = static_cast<Mask>(held | group.roles[static_cast<std::size_t>(other)]);
  }
  const bool is_saved = before.version.step <= world.checkpoint && group.roles == Rendezvous{}.roles;
  if (held != kAllUnits && !is_saved) report_violation("state was let go before others had it");
}

}  // namespace sailor::trainer::exploration
