// One event at one worker, and the list of the worlds that come of events.
#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {

std::vector<Successor> Explorer::run() {
  for (int worker = 0; worker < kWorkers; ++worker) {
    if (has(from_.crashed, worker)) continue;
    hear(worker);
    regroup(worker);
    train(worker);
    keep_lease(worker);
    if (may_lose_a_peer(worker)) step(worker, event::PeerLost{});
  }
  operate();
  if (from_.faults < limits_.faults) fail();
  return std::move(list_);
}

Order Explorer::order_of(int worker, int generation, bool is_prepared) const {
  if (generation == 0) return {};
  const Meeting& next = meeting(generation);
  const Meeting& running = meeting(at(worker).generation);
  bool drops = false;
  for (int peer = 0; peer < kWorkers; ++peer) {
    drops = drops || (running.roles[static_cast<std::size_t>(peer)] != 0 && !has(next.members, peer));
  }
  return {.generation = generation,
          .has_slot = has(next.members, worker),
          .has_role = next.roles[static_cast<std::size_t>(worker)] != 0,
          .drops_a_peer = drops,
          .is_prepared = is_prepared};
}

WorkerState Explorer::state_of(int worker) const {
  const Worker& packed_state = at(worker);
  return {
      .place = packed_state.place,
      .generation = packed_state.generation,
      .has_role = packed_state.has_role != 0,
      .account = {packed_state.updated_by, packed_state.step, packed_state.confirmed, packed_state.has_gradients != 0},
      .next = order_of(worker, packed_state.next, packed_state.next_is_prepared != 0)};
}

void Explorer::write(const WorkerState& state, Worker& worker) {
  worker.place = state.place;
  worker.generation = static_cast<std::uint8_t>(state.generation);
  worker.has_role = state.has_role ? 1 : 0;
  worker.step = static_cast<std::uint8_t>(state.account.step);
  worker.has_gradients = state.account.has_gradients ? 1 : 0;
  worker.next = static_cast<std::uint8_t>(state.next.generation);
  worker.next_is_prepared = state.next.is_prepared ? 1 : 0;
  worker.updated_by = static_cast<std::uint8_t>(state.account.updated_by);
  worker.confirmed = static_cast<std::uint8_t>(state.account.confirmed);
}

void Explorer::step(int id, const Event& event, const std::function<void(World&)>& also) {
  World world = from_;
  also(world);
  const WorkerState before = state_of(id);
  const WorkerState now = after(before, event);
  if (now.generation < before.generation) complain_("a worker obeyed an older generation");
  Worker& worker = worker_of(world, id);
  write(now, worker);
  if (now.generation != before.generation) arrive(world, id);
  if (worker.place != before.place || worker.step != before.account.step) begin_work(world, id);
  keep(std::move(world), false);
}

void Explorer::arrive(World& world, int id) const {
  Worker& worker = worker_of(world, id);
  remove(world.leased, id);
  if (worker.place == Place::kReleased) {
    worker.slices = 0;
    return;
  }
  Meeting& meeting = world.meetings[worker.generation];
  put(meeting.published, id);
  meeting.holdings[static_cast<std::size_t>(id)] = packed(worker);
}

void Explorer::begin_work(World& world, int id) const {
  Worker& worker = worker_of(world, id);
  Meeting& meeting = world.meetings[worker.generation];
  const auto next_step = static_cast<std::uint8_t>(worker.step + 1);
  if (worker.place == Place::kComputing && worker.step < limits_.steps) {
    meeting.computing[static_cast<std::size_t>(id)] = next_step;
  }
  if (worker.place == Place::kVoting) {
    meeting.voting[static_cast<std::size_t>(id)] = next_step;
    if (worker.next_is_prepared != 0) meeting.leaving = next_step;
    if (!is_alone(worker.generation)) note_vote(world, worker.generation, next_step);
  }
  if (worker.place == Place::kReleased) worker.slices = 0;
}

// Forgets what can matter no more, so that worlds that differ only in it are one.
void Explorer::tidy(World& world) const {
  for (int generation = 1; generation < kGenerations; ++generation) {
    Meeting& group = world.meetings[static_cast<std::size_t>(generation)];
    bool is_over = generation < world.record;
    bool is_met = true;
    for (int id = 0; id < kWorkers; ++id) {
      if (has(world.crashed, id) || !has(group.members, id)) continue;
      const Worker& worker = world.workers[static_cast<std::size_t>(id)];
      is_over = is_over && worker.generation > generation;
      const bool regroups = worker.place == Place::kMeeting || worker.place == Place::kMoving;
      is_met = is_met && (worker.generation > generation || (worker.generation == generation && !regroups));
    }
    if (is_over) group = {};
    if (is_met) {
      group.holdings = {};
      group.published = group.met = 0;
    }
  }
}

void Explorer::keep(World world, bool is_fault) {
  tidy(world);
  if (!(world == from_)) list_.push_back({world, is_fault});
}

std::vector<Successor> successors(const World& world, const Limits& limits,
                                  const std::function<void(const std::string&)>& complain) {
  return Explorer(world, limits, complain).run();
}

}  // namespace sailor::trainer::exploration
