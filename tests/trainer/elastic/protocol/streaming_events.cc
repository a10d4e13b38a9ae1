// Events of workers that receive state of a running generation, either to join or because the next plan gives them
// more, and of the workers that train in it. The order in which shards are sent is not modelled: in the end a receiver
// has any subset of what it lacks.
#include <algorithm>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {
// True if the worker is at the rendezvous without all state of its role, and was sent state, or a worker that will send
// state to it may still train.
bool Explorer::may_stream(const World& world, int id) {
  const Worker& receiver = world.workers[static_cast<std::size_t>(id)];
  const Rendezvous& next = world.rendezvous_of[receiver.generation];
  const Mask role = next.roles[static_cast<std::size_t>(id)];
  if (receiver.place != WorkerPlace::kRendezvous || (role & ~receiver.units) == 0) return false;
  if (next.streamed[static_cast<std::size_t>(id)] != 0) return true;
  return std::ranges::any_of(world.workers, [&](const Worker& source) {
    const bool comes = source.generation < receiver.generation && source.next <= receiver.generation;
    const bool is_peer = receiver.updated_by == 0 || receiver.confirmed == source.generation;
    return comes && is_peer && source.has_role != 0 && source.place != WorkerPlace::kBroken &&
           streams_state(next, world.rendezvous_of[source.generation]);
  });
}

// If a receiver does not start to stream, it reports at once what it holds, as if it gave up later.
void Explorer::start_streaming(World world, int id) {
  Worker& receiver = worker_of(world, id);
  receiver.is_streaming = 1;
  keep(world, {TransitionKind::kStartsStreaming, id, receiver.generation});
}

// The connections of the receiver have ended. Any subset of what its state sources sent may have arrived. A worker that
// has trained itself uses it only if it belongs to the state that the worker has.
void Explorer::end_streaming(int id) {
  const Rendezvous& group = rendezvous(at(id).generation);
  const auto index = static_cast<std::size_t>(id);
  for (Mask part = 1; part <= group.streamed[index]; ++part) {
    if ((part & ~group.streamed[index]) != 0) continue;
    const Mask held = rules_.streaming.counts_a_shard_as_the_whole ? group.roles[index] : part;
    if (held != part) report_violation("a joining worker holds what it was not sent");
    check_all_can_apply(group.streamed_step, group.streamed_by);
    const Worker& receiver = at(id);
    const bool is_same = receiver.step == group.streamed_step && receiver.updated_by == group.streamed_updated_by &&
                         receiver.confirmed == group.streamed_by && receiver.has_gradients == 0;
    if (receiver.updated_by != 0 && !is_same && rules_.streaming.adds_to_any_state) {
      report_violation("a worker holds state of another step than it says");
    }
    World world = from_;
    Mask& units = worker_of(world, id).units;
    if (receiver.updated_by == 0) units = held;
    if (receiver.updated_by != 0 && (is_same || rules_.streaming.adds_to_any_state)) units |= held;
    step(world, {TransitionKind::kEndsStreaming, id, at(id).generation},
         event::StateStreamed{.step = group.streamed_step,
                              .updated_by = group.streamed_updated_by,
                              .generation = group.streamed_by,
                              .is_final = group.is_final != 0});
  }
}

// A worker that was sent nothing, and will not be, reports this at once: others may be arbitrarily late anyway.
void Explorer::end_useless_streaming(World& world) {
  for (int id = 0; id < kWorkers; ++id) {
    Worker& receiver = worker_of(world, id);
    if (receiver.is_streaming == 0 || may_stream(world, id)) continue;
    receiver.is_streaming = 0;
    publish_state_report(world, id);
  }
}

// Sends state to the workers of the next generation. What they received before belongs to an older step.
void Explorer::stream(World& world, int id, int step, bool is_last) {
  const Worker source = worker_of(world, id);
  if (source.next_is_prepared == 0) return;
  Rendezvous& next = world.rendezvous_of[source.next];
  if (!streams_state(next, rendezvous(source.generation))) return;
  if (next.streamed_step != step || next.streamed_by != source.generation) {
    next.streamed = {};
    next.is_final = 0;
  }
  for (const UnitMove& move : agreements_.streams(next, rendezvous(source.generation))) {
    const Worker& receiver = worker_of(world, move.to);
    const bool receives = receiver.generation == source.next && receiver.is_streaming != 0;
    const bool trains = receiver.generation == source.generation && receiver.next == source.next;
    if (move.from != id || (!receives && !trains)) continue;
    put(next.streamed[static_cast<std::size_t>(move.to)], move.unit);
    next.streamed_step = static_cast<std::uint8_t>(step);
    next.streamed_by = source.generation;
    next.streamed_updated_by = source.updated_by;
    if (is_last) next.is_final = 1;
  }
}

// The step would end too late for an urgent change, or the worker is not scheduled for so long that it seems so.
void Explorer::drop_step(int id) {
  if (is_training(at(id).place) && may_wait(id)) {
    step(from_, {TransitionKind::kDropsStep, id, at(id).generation}, event::GenerationFailed{});
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
         streams_state(rendezvous(worker.next), rendezvous(worker.generation));
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
