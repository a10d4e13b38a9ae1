// The invariants of the explored world.
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

// True if the present workers together have all units of a state that this generation has trained from.
bool hold_all_of(Mask present, const Rendezvous& group, const Agreement& agreement, int generation) {
  std::map<std::pair<std::int64_t, std::int64_t>, Mask> held;  // by step and last update
  for (std::size_t id = 0; id < kWorkers; ++id) {
    const StateVersion& version = agreement.state_reports[id].version;
    if (!has(present, static_cast<int>(id)) || version.confirmed != generation) continue;
    Mask& units = held[{version.step, version.updated_by}];
    units = static_cast<Mask>(units | (group.state_reports[id] & kAllUnits));
  }
  return std::ranges::any_of(held, [](const auto& state) { return state.second == kAllUnits; });
}

}  // namespace

void Explorer::check(const World& world, int id, const WorkerState& before, const WorkerState& now) {
  if (now.generation < before.generation) report_violation("a worker obeyed an older generation");
  if (now.place == WorkerPlace::kReleased && before.version.updated_by > 0) check_is_safe(world, id, before);
}

// A worker that was partitioned or frozen within a step may still finish this step if the workers that have left since
// had voted for it. No other worker uses the resulting state. It must never finish a second step.
void Explorer::note_vote(World& world, int generation, int step) {
  Rendezvous& group = world.rendezvous_of[static_cast<std::size_t>(generation)];
  if (!have_all(group, group.voting, step) || world.history.newest_confirmed <= generation) return;
  if (group.has_finished_late != 0) report_violation("two generations train at the same time");
  group.has_finished_late = 1;
}

// A worker that has received all votes applies the update. Joining workers that receive its state follow. All workers
// that are still in this generation must be able to apply the update too. A worker that has left may have agreed with
// others on another resume point.
void Explorer::check_all_can_apply(int step, int generation) {
  for (int id = 0; id < kWorkers; ++id) {
    const Worker& worker = at(id);
    const bool has_it = worker.step >= step || (worker.step == step - 1 && worker.has_gradients != 0);
    if (worker.generation == generation && worker.confirmed == generation && !has_it) {
      report_violation("a step is applied that another worker of the generation cannot apply");
    }
  }
}

void Explorer::note_applied(World& world, int step, int generation) {
  check_all_can_apply(step, generation);
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
  if (state.generation < history.newest_confirmed) return;  // it is too late and will find that its peers have left
  history.newest_confirmed = static_cast<std::uint8_t>(state.generation);
  const auto at_step = static_cast<std::size_t>(state.version.step);
  // No worker at this rendezvous has applied more steps, or check_nothing_is_thrown_away() reports a violation.
  if (at_step > 0) history.applied[at_step] = static_cast<std::uint8_t>(state.version.updated_by);
  for (std::size_t step = at_step + 1; step <= kLastStep; ++step) history.applied[step] = 0;
}

// Going back is allowed only if the newest step that any worker has ever applied is not completely in the memory of the
// workers at the rendezvous.
void Explorer::check_nothing_is_thrown_away(int generation, const Agreement& agreement) {
  const Rendezvous& group = rendezvous(generation);
  for (int id = 0; id < kWorkers; ++id) {
    if (has(group.members, id) && at(id).generation > generation) return;  // this rendezvous never completes
  }
  if (agreement.point && agreement.point->step < from_.checkpoint)
    report_violation("a checkpoint's steps were thrown away");
  // The rendezvous never completes without the others.
  const auto present = static_cast<Mask>(group.members & ~from_.crashed);
  const int confirmed = from_.history.newest_confirmed;
  if (hold_all_of(present, group, agreement, confirmed) &&
      (!agreement.point || agreement.point->confirmed < confirmed)) {
    report_violation("an abandoned state was resumed");
  }
  ResumePoint newest;
  for (std::size_t step = 1; step <= kLastStep; ++step) {
    if (from_.history.applied[step] == 0) continue;
    newest = {.step = static_cast<std::int64_t>(step), .updated_by = from_.history.applied[step]};
  }
  Mask held = 0;
  for (int id = 0; id < kWorkers; ++id) {
    if (!has(present, id) || newest.step == 0) continue;
    if (!can_offer(agreement.state_reports[static_cast<std::size_t>(id)], newest)) continue;
    held = static_cast<Mask>(held | (group.state_reports[static_cast<std::size_t>(id)] & kAllUnits));
  }
  if (held != kAllUnits) return;
  const bool goes_on = agreement.point && (agreement.point->step > newest.step || is_at(*agreement.point, newest));
  if (!goes_on) report_violation("state in memory was thrown away");
}

// The operator's knowledge may be out of date, but every worker that holds state and answers must be invited.
void Explorer::check_holders_are_invited(const std::vector<std::size_t>& taking_part) {
  for (int id = 0; id < kWorkers; ++id) {
    const bool is_invited = std::ranges::find(taking_part, static_cast<std::size_t>(id)) != taking_part.end();
    if (is_invited && has(from_.unreachable, id)) report_violation("an unreachable pod is invited to a rendezvous");
    const bool must_be_invited = has(holders(), id) && !has(from_.unresponsive | from_.stale | from_.unreachable, id);
    if (must_be_invited && !is_invited) report_violation("a worker that holds state is not invited");
  }
}

// A worker that leaves may free its state only if a checkpoint or the others of the generation have it.
void Explorer::check_is_safe(const World& world, int id, const WorkerState& before) {
  const Rendezvous& group = rendezvous(static_cast<int>(before.generation));
  Mask held = 0;
  for (int other = 0; other < kWorkers; ++other) {
    if (other != id && has(group.moved, other))
      held = static_cast<Mask>(held | group.roles[static_cast<std::size_t>(other)]);
  }
  const bool is_saved = before.version.step <= world.checkpoint && group.roles == Rendezvous{}.roles;
  if (held != kAllUnits && !is_saved) report_violation("state was freed before others had it");
}

}  // namespace sailor::trainer::exploration
