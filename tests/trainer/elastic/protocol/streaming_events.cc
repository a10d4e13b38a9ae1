// Events of joining workers that receive the state of a running generation, and of the workers that train in it. The
// order in which shards are sent is not modelled: in the end a joining worker has any subset of its units.
#include <algorithm>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {
// True if the worker holds no state yet and a worker that will send state to it may still train.
bool Explorer::may_stream(const World& world, int id) {
  const Worker& joining_worker = world.workers[static_cast<std::size_t>(id)];
  const Rendezvous& next = world.rendezvous_of[joining_worker.generation];
  const bool lacks_state = joining_worker.place == WorkerPlace::kRendezvous && joining_worker.updated_by == 0;
  if (!lacks_state || next.roles[static_cast<std::size_t>(id)] == 0) return false;
  return std::ranges::any_of(world.workers, [&](const Worker& source) {
    const bool comes = source.generation < joining_worker.generation && source.next <= joining_worker.generation;
    return comes && source.has_role != 0 && source.place != WorkerPlace::kBroken &&
           has_joining_workers(next, world.rendezvous_of[source.generation]);
  });
}

// If a joining worker does not start to stream, it reports at once that it holds nothing, as if it gave up later.
void Explorer::start_streaming(World world, int id) {
  Worker& joining_worker = worker_of(world, id);
  joining_worker.is_streaming = 1;
  keep(world, {TransitionKind::kStartsStreaming, id, joining_worker.generation});
}

// The connections of the joining worker have ended. Any subset of what its state sources sent with a last step may have
// arrived.
void Explorer::end_streaming(int id) {
  const Rendezvous& group = rendezvous(at(id).generation);
  const auto index = static_cast<std::size_t>(id);
  for (Mask part = 1; part <= group.streamed[index]; ++part) {
    if ((part & ~group.streamed[index]) != 0) continue;
    const Mask held = rules_.streaming.counts_a_shard_as_the_whole ? group.roles[index] : part;
    if (held != part) report_violation("a joining worker holds what it was not sent");
    check_all_can_apply(group.streamed_step, group.streamed_by);
    World world = from_;
    worker_of(world, id).units = held;
    step(world, {TransitionKind::kEndsStreaming, id, at(id).generation},
         event::StateStreamed{.step = group.streamed_step, .generation = group.streamed_by});
  }
}

// A worker that was sent nothing, and will not be, reports this at once: others may be arbitrarily late anyway.
void Explorer::end_useless_streaming(World& world) {
  for (int id = 0; id < kWorkers; ++id) {
    Worker& joining_worker = worker_of(world, id);
    if (joining_worker.is_streaming == 0 ||
        world.rendezvous_of[joining_worker.generation].streamed[static_cast<std::size_t>(id)] != 0)
      continue;
    if (may_stream(world, id)) continue;
    joining_worker.is_streaming = 0;
    publish_state_report(world, id);
  }
}

// Sends state to the joining workers of the next generation. What they received before belongs to an older step.
void Explorer::stream(World& world, int id, int step, bool is_last) {
  const Worker& source = at(id);
  const bool counts = is_last || rules_.streaming.keeps_any_step;
  if (!counts || source.next_is_prepared == 0) return;
  Rendezvous& next = world.rendezvous_of[source.next];
  if (!has_joining_workers(next, rendezvous(source.generation))) return;
  if (next.streamed_step != step || next.streamed_by != source.generation) next.streamed = {};
  for (const UnitMove& move : agreements_.streams(next, rendezvous(source.generation))) {
    const Worker& joining_worker = worker_of(world, move.to);
    if (move.from != id || joining_worker.is_streaming == 0 || joining_worker.generation != source.next) continue;
    put(next.streamed[static_cast<std::size_t>(move.to)], move.unit);
    next.streamed_step = static_cast<std::uint8_t>(step);
    next.streamed_by = source.generation;
  }
}

// With complete gradients a worker gives its vote, and says in it whether it waits for joining workers.
void Explorer::compute(int id) {
  const int generation = at(id).generation;
  if (may_wait(id)) {
    World world = from_;
    world.rendezvous_of[at(id).generation].waiting = static_cast<std::uint8_t>(at(id).step + 1);
    step(world, {TransitionKind::kComputesAndWaits, id, generation}, event::Computed{});
  }
  if (may_stop_waiting(id)) step(from_, {TransitionKind::kComputes, id, generation}, event::Computed{});
}

bool Explorer::may_wait(int id) const {
  const Worker& worker = at(id);
  return limits_.state_is_streamed && worker.next > 0 &&
         has_joining_workers(rendezvous(worker.next), rendezvous(worker.generation));
}

// True once all are connected or cannot connect, and the joining workers have caught up, are given up, or the limit has
// passed.
bool Explorer::may_stop_waiting(int id) const {
  const Worker& worker = at(id);
  if (!may_wait(id)) return true;
  if (worker.next_is_prepared == 0) return false;
  if (!rules_.streaming.is_awaited_without_limit) return true;
  for (std::size_t other = 0; other < kWorkers; ++other) {
    const bool comes = rendezvous(worker.next).roles[other] != 0 && rendezvous(worker.generation).roles[other] == 0;
    const bool can_catch_up = from_.workers[other].generation == worker.next && from_.workers[other].is_streaming != 0;
    if (comes && !can_catch_up) return false;
  }
  return true;
}

// If nothing more can happen, no worker may still wait for joining workers.
void Explorer::check_no_change_is_postponed() {
  for (int id = 0; id < kWorkers; ++id) {
    const bool trains = !has(from_.crashed, id) && is_training(at(id).place);
    if (trains && !may_stop_waiting(id)) report_violation("a change is postponed for ever");
  }
}

}  // namespace sailor::trainer::exploration
