// Applies one event to one worker and lists the worlds that follow from a world.
#include "tests/trainer/elastic/protocol/explorer.h"

#include <algorithm>

#include "tests/trainer/elastic/protocol/reduction.h"

namespace sailor::trainer::exploration {

const Future& Explorer::future_of(const World& world) {
  from_ = world;
  future_.successors.clear();
  future_.violations.clear();
  for (int worker = 0; worker < kWorkers; ++worker) {
    if (has(from_.crashed, worker)) continue;
    receive_assignments(worker);
    if (at(worker).is_streaming != 0) end_streaming(worker);
    regroup(worker);
    train(worker);
    drop_step(worker);
    keep_lease(worker);
    if (may_lose_a_peer(worker))
      step(from_, {TransitionKind::kLosesPeer, worker, at(worker).generation}, event::GenerationFailed{});
  }
  operate();
  if (std::ranges::none_of(future_.successors, &Successor::is_sure)) check_no_change_is_postponed();
  if (from_.faults < limits_.faults) fail();
  return future_;
}

Command Explorer::command_of(int worker, int generation, bool is_prepared) const {
  if (generation == 0) return {};
  const Rendezvous& next = rendezvous(generation);
  const Rendezvous& running = rendezvous(at(worker).generation);
  bool drops = false;
  for (int peer = 0; peer < kWorkers; ++peer) {
    drops = drops || (running.roles[static_cast<std::size_t>(peer)] != 0 && !has(next.members, peer));
  }
  return {.generation = generation,
          .has_slot = has(next.members, worker),
          .has_role = next.roles[static_cast<std::size_t>(worker)] != 0,
          .drops_a_peer = drops,
          .preparation_is_over = is_prepared};
}

WorkerState Explorer::state_of(int worker) const {
  const Worker& packed_state = at(worker);
  return {.place = packed_state.place,
          .generation = packed_state.generation,
          .has_role = packed_state.has_role != 0,
          .version = {packed_state.updated_by, packed_state.step, packed_state.confirmed,
                      packed_state.has_gradients != 0, packed_state.may_be_behind != 0},
          .next = command_of(worker, packed_state.next, packed_state.next_is_prepared != 0)};
}

void Explorer::write(const WorkerState& state, Worker& worker) {
  worker.place = state.place;
  worker.generation = static_cast<std::uint8_t>(state.generation);
  worker.has_role = state.has_role ? 1 : 0;
  worker.step = static_cast<std::uint8_t>(state.version.step);
  worker.has_gradients = state.version.has_gradients ? 1 : 0;
  worker.next = static_cast<std::uint8_t>(state.next.generation);
  worker.next_is_prepared = state.next.preparation_is_over ? 1 : 0;
  worker.updated_by = static_cast<std::uint8_t>(state.version.updated_by);
  worker.confirmed = static_cast<std::uint8_t>(state.version.confirmed);
  worker.may_be_behind = state.version.may_be_behind ? 1 : 0;
}

void Explorer::step(World world, const Transition& transition, const Event& event) {
  const int id = transition.worker;
  const WorkerState before = state_of(id);
  const WorkerState now = rules_.after(before, event);
  check(world, id, before, now);
  Worker& worker = worker_of(world, id);
  write(now, worker);
  const bool has_applied = is_training(before.place) && now.version.step > before.version.step;
  if (has_applied) {
    const auto* voted = std::get_if<event::Voted>(&event);
    note_applied(world, at(id).step + 1, at(id).generation);
    stream(world, id, at(id).step + 1, voted != nullptr && voted->somebody_leaves);
  }
  if (std::holds_alternative<event::PreparationOver>(event)) stream(world, id, at(id).step, false);
  if (is_training(now.place) && now.version.confirmed > before.version.confirmed) note_confirmed(world.history, now);
  const bool ends_streaming = std::holds_alternative<event::StateStreamed>(event);
  if (ends_streaming || now.place != WorkerPlace::kRendezvous) worker.is_streaming = 0;
  if (ends_streaming) publish_state_report(world, id);
  if (now.generation != before.generation) {
    if (limits_.state_is_streamed && may_stream(world, id)) start_streaming(world, id);
    arrive(world, id);
  }
  if (worker.place != before.place || worker.step != before.version.step) begin_work(world, id);
  keep(world, transition);
}

void Explorer::arrive(World& world, int id) const {
  Worker& worker = worker_of(world, id);
  remove(world.leased, id);
  if (worker.place == WorkerPlace::kReleased) {
    worker.units = 0;
    return;
  }
  publish_state_report(world, id);
}

void Explorer::publish_state_report(World& world, int id) {
  Rendezvous& rendezvous = world.rendezvous_of[world.workers[static_cast<std::size_t>(id)].generation];
  put(rendezvous.published, id);
  rendezvous.state_reports[static_cast<std::size_t>(id)] = packed(world.workers[static_cast<std::size_t>(id)]);
}

void Explorer::begin_work(World& world, int id) {
  Worker& worker = worker_of(world, id);
  Rendezvous& rendezvous = world.rendezvous_of[worker.generation];
  const auto next_step = static_cast<std::uint8_t>(worker.step + 1);
  if (worker.place == WorkerPlace::kComputing && worker.step < limits_.steps) {
    rendezvous.computing[static_cast<std::size_t>(id)] = next_step;
  }
  if (worker.place == WorkerPlace::kVoting) {
    rendezvous.voting[static_cast<std::size_t>(id)] = next_step;
    if (worker.next_is_prepared != 0) rendezvous.leaving = next_step;
    if (rules_.streaming.is_sent_before_the_vote) stream(world, id, next_step, true);
    if (!is_alone(from_, worker.generation)) note_vote(world, worker.generation, next_step);
  }
  if (worker.place == WorkerPlace::kReleased) worker.units = 0;
}

void Explorer::report_violation(std::string_view rule) { future_.violations.emplace_back(rule); }

void Explorer::keep(World& world, const Transition& transition) {
  end_useless_streaming(world);
  if (reduction_ == Reduction::kForgetIrrelevant) reduce(world);
  World same = from_;
  same.faults = world.faults;  // drops a fault without effect, because the same states follow without it
  const bool is_sure = transition.kind != TransitionKind::kDropsStep && !takes_a_broken_path(transition);
  if (world != same) future_.successors.push_back({world, transition, is_sure});
}

}  // namespace sailor::trainer::exploration
