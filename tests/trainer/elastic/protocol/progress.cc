#include "tests/trainer/elastic/protocol/progress.h"

namespace sailor::trainer::exploration {
namespace {

constexpr int kGeneration = 56;  // more than all progress of a worker within one generation
constexpr int kOperator = 16;    // more than the progress that the end of a lease can undo
constexpr int kUnresponsive = 8;
constexpr int kStep = 6;
constexpr int kFirstStep = 5;

// The progress of a lone worker towards the lease, or the pause, that it will have if nothing else happens.
int lease_progress(const World& world, int id, const Rules& rules) {
  const Worker& worker = world.workers[static_cast<std::size_t>(id)];
  if (!is_training(worker.place) || !is_alone(world, worker.generation)) return 0;
  const bool holds = has(world.leased, id);
  const bool is_paused = worker.place == WorkerPlace::kAwaitingLease;
  if (is_lease_renewed(world, id, rules)) return holds ? (is_paused ? 2 : 3) : (is_paused ? 1 : 0);
  return holds ? (is_paused ? 0 : 1) : (is_paused ? 3 : 2);
}

int place_progress(const World& world, int id) {
  const Worker& worker = world.workers[static_cast<std::size_t>(id)];
  switch (worker.place) {
    case WorkerPlace::kIdle:
      return 0;
    case WorkerPlace::kRendezvous:
      return worker.is_streaming != 0 ? 0 : 1;
    case WorkerPlace::kTransferring:
      return has(world.rendezvous_of[worker.generation].saved, id) ? 3 : 2;
    case WorkerPlace::kConfirming:
      return 4;
    case WorkerPlace::kComputing:
      return kFirstStep + kStep * worker.step;
    case WorkerPlace::kVoting:
    case WorkerPlace::kAwaitingLease:
      return kFirstStep + kStep * worker.step + 2;
    default:
      return kFirstStep + kStep * (kLastStep + 1);
  }
}

int worker_progress(const World& world, int id, const Rules& rules) {
  if (has(world.crashed, id)) return (world.issued + 1) * kGeneration;  // independent of its former place
  const Worker& worker = world.workers[static_cast<std::size_t>(id)];
  const int known = worker.next == 0 ? 0 : 2 * (worker.next - worker.generation) + worker.next_is_prepared;
  return worker.generation * kGeneration + known + place_progress(world, id) + lease_progress(world, id, rules) -
         (has(world.unresponsive, id) ? kUnresponsive : 0);
}

// The generation that has superseded the claim of the worker's generation; 0: none.
std::int64_t superseded_by(const World& world, const Worker& worker) {
  return world.claim > worker.generation ? world.claim : 0;
}

}  // namespace

bool is_lease_renewed(const World& world, int id, const Rules& rules) {
  const Worker& worker = world.workers[static_cast<std::size_t>(id)];
  const bool joins_newest = world.committed == world.record && worker.generation == world.replaced;
  if (has(world.unresponsive, id)) return rules.folder_renews(superseded_by(world, worker));
  return rules.renews_lease(worker.generation, world.record, trains_on(world), joins_newest);
}

int progress(const World& world, const Rules& rules) {
  int sum = world.faults * (kUnresponsive + kOperator) +
            (world.issued + world.committed + world.withdrawals + world.claim) * kOperator;
  for (int id = 0; id < kWorkers; ++id) sum += worker_progress(world, id, rules);
  return sum;
}

}  // namespace sailor::trainer::exploration
