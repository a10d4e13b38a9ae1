// A path between two workers breaks while both answer the operator. A message between the two may have arrived before,
// may arrive through the third worker, or may never arrive. So an event that needs such a message may never happen.
#include <algorithm>
#include <vector>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {
namespace {

// The path between two workers is named by the third worker.
constexpr int third(int one, int other) { return kWorkers - one - other; }

constexpr Mask kAllWorkers = (1U << kWorkers) - 1;

Mask ends_of(int path) { return static_cast<Mask>(kAllWorkers & ~(1U << path)); }

bool covers_all(Mask broken, Mask excluded) {
  for (int path = 0; path < kWorkers; ++path) {
    if (has(broken, path) && (ends_of(path) & excluded) == 0) return false;
  }
  return true;
}

// Returns the smallest sets of workers that can be left out so that the others reach each other. The operator has a
// rule that chooses one of these sets.
std::vector<Mask> smallest_exclusions(Mask broken) {
  std::vector<Mask> found;
  for (Mask excluded = 1; excluded <= kAllWorkers; ++excluded) {
    bool is_least = covers_all(broken, excluded);
    for (int id = 0; id < kWorkers; ++id) {
      const auto fewer = static_cast<Mask>(excluded & ~(1U << id));
      is_least = is_least && (fewer == excluded || !covers_all(broken, fewer));
    }
    if (is_least) found.push_back(excluded);
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

bool Explorer::is_path_broken(int one, int other) const { return has(from_.broken_paths, third(one, other)); }

Mask Explorer::broken_paths_among(Mask workers) const {
  Mask broken = 0;
  for (int path = 0; path < kWorkers; ++path) {
    if (has(from_.broken_paths, path) && (ends_of(path) & ~workers) == 0) put(broken, path);
  }
  return broken;
}

bool Explorer::takes_a_broken_path(const Transition& transition) const {
  if (from_.broken_paths == 0 || transition.worker < 0) return false;
  const int generation = at(transition.worker).generation;
  const Rendezvous& group = rendezvous(generation);
  Mask still_there = group.members;  // a released worker has sent everything, and all have received it
  for (int id = 0; id < kWorkers; ++id) {
    if (at(id).generation == generation && at(id).place == WorkerPlace::kReleased) remove(still_there, id);
  }
  switch (transition.kind) {
    case TransitionKind::kCompletesRendezvous:
    case TransitionKind::kTransfersState:
    case TransitionKind::kConfirms:
      return broken_paths_among(still_there) != 0;
    case TransitionKind::kComputes:
    case TransitionKind::kComputesAndWaits:
    case TransitionKind::kAppliesUpdate:
      return broken_paths_among(with_roles(group)) != 0;
    default:
      return false;
  }
}

// The next generation leaves out workers that are gone or unreachable. Agents may notice a broken path only after the
// generation has failed once because of it. Workers that are gone are left out first.
void Explorer::give_up(TransitionKind kind) {
  const Mask members = rendezvous(from_.committed).members;
  const Mask gone = static_cast<Mask>(from_.crashed | from_.unresponsive);
  const Mask broken = broken_paths_among(static_cast<Mask>(members & ~gone));
  const bool is_overlooked = (broken & from_.noticed_paths) == 0 || (members & gone) != 0;
  if (is_overlooked || !rules_.broken_paths.leave_one_out) write_record(kind);
  if (broken == 0 || !rules_.broken_paths.leave_one_out) return;
  for (const Mask excluded : smallest_exclusions(broken)) write_record(kind, excluded);
}

// True after the membership of the next generation is committed, because then no worker needs the pod. Also true if the
// next generation waits until this pod can no longer train.
bool Explorer::may_be_deleted(int id) const {
  if (!has(from_.unreachable, id)) return false;
  return from_.record == from_.committed || (rules_.broken_paths.delete_pods_that_others_wait_for && is_awaited(id));
}

bool Explorer::is_awaited(int id) const {
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
