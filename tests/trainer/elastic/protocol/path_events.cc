// A path between two workers that is cut while both answer the operator. What they have sent each other may have come
// before, may come by way of the third, or never: so it is not sure that an event happens which takes such a message.
#include <algorithm>
#include <vector>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {
namespace {

// The path between two is named by the worker at neither end.
constexpr int third(int one, int other) { return kWorkers - one - other; }

constexpr Mask kAllWorkers = (1U << kWorkers) - 1;

Mask ends_of(int path) { return static_cast<Mask>(kAllWorkers & ~(1U << path)); }

bool leaves_no_cut(Mask cuts, Mask accused) {
  for (int path = 0; path < kWorkers; ++path) {
    if (has(cuts, path) && (ends_of(path) & accused) == 0) return false;
  }
  return true;
}

// Who could be left out, and no fewer, so that the others reach each other. The operator has a rule for which of them.
std::vector<Mask> accusations(Mask cuts) {
  std::vector<Mask> found;
  for (Mask accused = 1; accused <= kAllWorkers; ++accused) {
    bool is_least = leaves_no_cut(cuts, accused);
    for (int id = 0; id < kWorkers; ++id) {
      const auto fewer = static_cast<Mask>(accused & ~(1U << id));
      is_least = is_least && (fewer == accused || !leaves_no_cut(cuts, fewer));
    }
    if (is_least) found.push_back(accused);
  }
  return found;
}

Mask with_roles(const Rendezvous& group) {
  Mask found = 0;
  for (int id = 0; id < kWorkers; ++id) {
    if (group.roles[static_cast<std::size_t>(id)] != 0) put(found, id);
  }
  return found;
}

}  // namespace

void Explorer::break_paths() {
  for (int path = 0; path < kWorkers; ++path) {
    const int one = path == 0 ? 1 : 0;
    if (has(from_.broken_paths, path) || (ends_of(path) & from_.crashed) != 0) continue;
    World world = faulty();
    put(world.broken_paths, path);
    keep(world, {TransitionKind::kLosesPath, one, at(one).generation});
  }
}

bool Explorer::is_cut_off(int one, int other) const { return has(from_.broken_paths, third(one, other)); }

Mask Explorer::cuts_among(Mask workers) const {
  Mask cuts = 0;
  for (int path = 0; path < kWorkers; ++path) {
    if (has(from_.broken_paths, path) && (ends_of(path) & ~workers) == 0) put(cuts, path);
  }
  return cuts;
}

bool Explorer::takes_a_broken_path(const Transition& transition) const {
  if (from_.broken_paths == 0 || transition.worker < 0) return false;
  const int generation = at(transition.worker).generation;
  const Rendezvous& group = rendezvous(generation);
  Mask still_there = group.members;  // who has been released has said all, and all have heard it
  for (int id = 0; id < kWorkers; ++id) {
    if (at(id).generation == generation && at(id).place == WorkerPlace::kReleased) remove(still_there, id);
  }
  switch (transition.kind) {
    case TransitionKind::kCompletesRendezvous:
    case TransitionKind::kTransfersState:
    case TransitionKind::kConfirms:
      return cuts_among(still_there) != 0;
    case TransitionKind::kComputes:
    case TransitionKind::kComputesAndWaits:
    case TransitionKind::kAppliesUpdate:
      return cuts_among(with_roles(group)) != 0;
    default:
      return false;
  }
}

// The next generation goes without somebody who is gone, or not reached. Agents may notice that a path is cut only
// after the generation has broken once for it; and who is gone is left out first.
void Explorer::give_up(TransitionKind kind) {
  const Mask members = rendezvous(from_.committed).members;
  const Mask gone = static_cast<Mask>(from_.crashed | from_.suspected);
  const Mask cuts = cuts_among(static_cast<Mask>(members & ~gone));
  const bool is_overlooked = (cuts & from_.noticed) == 0 || (members & gone) != 0;
  if (is_overlooked || !rules_.broken_paths.leave_one_out) write_record(kind);
  if (cuts == 0 || !rules_.broken_paths.leave_one_out) return;
  for (const Mask accused : accusations(cuts)) write_record(kind, accused);
}

// True after the membership of the next generation is committed, because then nobody needs the pod; also if the next
// generation waits until this pod can no longer train.
bool Explorer::may_be_ended(int id) const {
  if (!has(from_.unreachable, id)) return false;
  return from_.record == from_.committed || (rules_.broken_paths.end_who_is_waited_for && is_waited_for(id));
}

bool Explorer::is_waited_for(int id) const {
  const Rendezvous next = planned();
  if (next.members == 0) return false;
  for (const bool is_late : {false, true}) {
    const std::vector<PodState> pods = pod_states(next, is_late);
    const auto taking_part = rules_.participants(pods);
    if (!taking_part) continue;
    for (const int generation : unfenced(pods, *taking_part)) {
      if (rendezvous(generation).roles[static_cast<std::size_t>(id)] != 0) return true;
    }
  }
  return false;
}

}  // namespace sailor::trainer::exploration
