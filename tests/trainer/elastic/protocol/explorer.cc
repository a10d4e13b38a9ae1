// The events of the explored world.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "operator/protocol/fencing.h"
#include "planner/model/check.h"
#include "tests/trainer/elastic/protocol/agreement.h"

namespace sailor::trainer::exploration {
namespace {

class Explorer {
 public:
  Explorer(const World& world, const Limits& limits, const std::function<void(const std::string&)>& complain)
      : from_(world), limits_(limits), complain_(complain) {}

  std::vector<Successor> run() {
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

 private:
  // --- the worker machine and what its shell does at each change of place ---

  Worker& worker_of(World& world, int worker) const { return world.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Worker& at(int worker) const { return from_.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Meeting& meeting(int generation) const {
    return from_.meetings[static_cast<std::size_t>(generation)];
  }

  [[nodiscard]] Order order_of(int worker, int generation, bool is_prepared) const {
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

  [[nodiscard]] WorkerState state_of(int worker) const {
    const Worker& packed_state = at(worker);
    return {.place = packed_state.place,
            .generation = packed_state.generation,
            .has_role = packed_state.has_role != 0,
            .account = {packed_state.updated_by, packed_state.step, packed_state.confirmed,
                        packed_state.has_gradients != 0},
            .next = order_of(worker, packed_state.next, packed_state.next_is_prepared != 0)};
  }

  static void write(const WorkerState& state, Worker& worker) {
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

  // One event at one worker. `also` is what the event does to the rest of the world.
  void step(
      int id, const Event& event, const std::function<void(World&)>& also = [](World&) {}) {
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

  void arrive(World& world, int id) const {
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

  void begin_work(World& world, int id) const {
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

  // --- what may happen to a worker ---

  void hear(int id) {
    for (int generation = 1; generation <= from_.sealed; ++generation) {
      if (!has(meeting(generation).members, id)) continue;
      step(id, event::Assigned{order_of(id, generation, false)});  // late and repeated ones too
    }
    const bool may_prepare = at(id).next > 0 && at(id).next_is_prepared == 0 && is_training(at(id).place);
    if (may_prepare) step(id, event::Prepared{at(id).next});
  }

  void regroup(int id) {
    const Worker& worker = at(id);
    const Meeting& group = meeting(worker.generation);
    if (worker.place == Place::kMeeting && group.published == group.members && is_hosted(group)) meet(id, group);
    if (worker.place == Place::kMoving) move(id, group);
    if (worker.place == Place::kConfirming && group.moved == group.members && is_hosted(group)) confirm(id, group);
  }

  // The store lives in one member's agent.
  [[nodiscard]] bool is_hosted(const Meeting& group) const {
    return !has(from_.crashed, std::countr_zero(group.members));
  }

  void meet(int id, const Meeting& group) {
    const Agreement& agreement = agreement_of(group, at(id).generation);
    check_nothing_is_thrown_away(at(id).generation, agreement);
    const Holding& mine = agreement.holdings[static_cast<std::size_t>(id)];
    const bool offers_it = agreement.is_from_memory && can_offer(mine, agreement.point);
    const event::Met met{
        .can_offer = offers_it, .step = agreement.point.step, .updated_by = agreement.point.updated_by};
    step(id, met, [&](World& world) {
      put(world.meetings[at(id).generation].met, id);
      if (!offers_it) worker_of(world, id).slices = 0;
    });
  }

  void move(int id, const Meeting& group) {
    const Agreement& agreement = agreement_of(group, at(id).generation);
    Mask slices = at(id).slices;
    for (const SliceMove& arriving : agreement.transfers.moves) {
      if (arriving.to != id) continue;
      if (!has(group.met, arriving.from)) return;  // it has not sent yet
      put(slices, arriving.slice);
    }
    const Mask wanted = group.roles[static_cast<std::size_t>(id)];
    if (!agreement.is_from_memory) slices = wanted;  // from the checkpoint
    if ((slices & wanted) != wanted) complain_("a worker has not got all slices of its role");
    const event::Moved moved{
        .step = agreement.point.step, .updated_by = agreement.point.updated_by, .confirmed = agreement.point.confirmed};
    step(id, moved, [&](World& world) {
      put(world.meetings[at(id).generation].moved, id);
      worker_of(world, id).slices = slices;
    });
  }

  void confirm(int id, const Meeting& group) {
    step(id, event::Confirmed{.all_steps_are_done = false}, [&](World& world) {
      const Mask role = group.roles[static_cast<std::size_t>(id)];
      worker_of(world, id).slices = role;
      if (role != 0) note_confirmed(world.history, id);
    });
  }

  void train(int id) {
    const Worker& worker = at(id);
    const Meeting& group = meeting(worker.generation);
    const auto next_step = static_cast<std::uint8_t>(worker.step + 1);
    if (worker.place == Place::kComputing && worker.step < limits_.steps &&
        have_all(group, group.computing, next_step)) {
      step(id, event::Computed{});
    }
    const bool may_apply = !is_alone(worker.generation) || has(from_.leased, id);
    if (worker.place == Place::kVoting && have_all(group, group.voting, next_step) && may_apply) {
      step(id, event::Voted{.somebody_leaves = group.leaving == next_step, .is_last_step = false},
           [&](World& world) { note_applied(world.history, next_step, worker.generation); });
    }
  }

  static bool have_all(const Meeting& group, const std::array<std::uint8_t, kWorkers>& reached, int step) {
    for (std::size_t peer = 0; peer < kWorkers; ++peer) {
      if (group.roles[peer] != 0 && reached[peer] < step) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_alone(int generation) const {
    return std::ranges::count_if(meeting(generation).roles, [](Mask role) { return role != 0; }) == 1;
  }

  void keep_lease(int id) {
    const Worker& worker = at(id);
    if (!is_training(worker.place) || !is_alone(worker.generation)) return;
    const bool holds = has(from_.leased, id);
    if (worker.place == Place::kVoting && !holds) step(id, event::LeaseLapsed{});
    if (worker.place == Place::kPaused && holds) step(id, event::LeaseRenewed{});
    const bool is_renewed = !has(from_.suspected, id) && renews_lease(worker.generation, from_.record, 0);
    if (holds == is_renewed) return;
    World world = from_;
    is_renewed ? put(world.leased, id) : remove(world.leased, id);
    keep(std::move(world), false);
  }

  [[nodiscard]] bool may_lose_a_peer(int id) const {
    const Worker& worker = at(id);
    if (worker.place == Place::kIdle || worker.place == Place::kBroken || worker.place == Place::kReleased)
      return false;
    const Meeting& group = meeting(worker.generation);
    const bool trains = is_training(worker.place);
    const bool needs_store = worker.place == Place::kMeeting || worker.place == Place::kConfirming;
    if (needs_store && !is_hosted(group)) return true;
    for (int peer = 0; peer < kWorkers; ++peer) {
      const bool is_peer =
          peer != id && (trains ? group.roles[static_cast<std::size_t>(peer)] != 0 : has(group.members, peer));
      if (is_peer && (group.is_cut != 0 || is_lost(peer, worker.generation))) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_lost(int peer, int generation) const {
    const Worker& worker = at(peer);
    const bool has_closed = worker.place == Place::kBroken;
    return has(from_.crashed, peer) || has(from_.suspected, peer) || worker.generation > generation ||
           (worker.generation == generation && has_closed);
  }

  // --- the operator: what it writes, seals and hears. It keeps nothing in memory, so its crash is a delay ---

  void operate() {
    if (from_.record == from_.sealed) {
      const bool may_change = from_.change < limits_.changes && (from_.change > 0 || trains(from_, limits_));
      if (may_change) write_record(true);
      if (is_in_trouble()) write_record(false);
    } else {
      seal();
    }
    for (int id = 0; id < kWorkers; ++id) {
      if (!has(from_.suspected, id)) continue;
      World world = from_;  // it answers again
      remove(world.suspected, id);
      keep(std::move(world), false);
    }
  }

  [[nodiscard]] bool is_in_trouble() const {
    const Meeting& group = meeting(from_.sealed);
    for (int id = 0; id < kWorkers; ++id) {
      const bool is_gone = has(from_.crashed, id) || has(from_.suspected, id);
      if (group.roles[static_cast<std::size_t>(id)] != 0 && is_gone) return true;
      if (!is_gone && at(id).place == Place::kBroken && at(id).generation == from_.sealed) return true;
    }
    return false;
  }

  void write_record(bool is_change) {
    World world = from_;
    ++world.record;
    SAILOR_CHECK(world.record < kGenerations, "generation {} is beyond the table", world.record);
    if (is_change) ++world.change;
    keep(std::move(world), false);
  }

  void seal() {
    Meeting next;
    std::vector<int> usable;
    for (int id = 0; id < kWorkers; ++id) {
      if (!has(from_.crashed, id) && !has(from_.suspected, id)) usable.push_back(id);
    }
    give_roles(usable, next);
    if (next.members == 0) return;
    // Reports come late: whoever answers may have said that it holds nothing before it was told, or not since.
    for (const bool is_late : {false, true}) {
      const std::vector<PodStanding> pods = standings(next, is_late);
      const auto taking_part = participants(pods);
      if (!taking_part || !all_are_fenced(pods, *taking_part)) continue;
      World world = from_;
      world.sealed = world.record;
      world.meetings[world.record] = next;
      for (const std::size_t id : *taking_part) put(world.meetings[world.record].members, static_cast<int>(id));
      keep(std::move(world), false);
    }
  }

  [[nodiscard]] std::vector<PodStanding> standings(const Meeting& next, bool is_late) const {
    std::vector<PodStanding> pods(kWorkers);
    for (int id = 0; id < kWorkers; ++id) {
      const Worker& worker = at(id);
      PodStanding& pod = pods[static_cast<std::size_t>(id)];
      pod.has_slot = has(next.members, id);
      pod.is_dead = has(from_.crashed, id);
      pod.hearing = pod.is_dead || has(from_.suspected, id) ? Hearing::kSilent : Hearing::kAnswers;
      pod.is_ready = true;
      pod.holds_state = is_late || (worker.generation > 0 && worker.place != Place::kReleased);
      pod.reported = worker.generation;
      for (int generation = 1; generation <= from_.sealed; ++generation) {
        if (has(meeting(generation).members, id)) pod.told = generation;
      }
    }
    return pods;
  }

  // The plan that each change asks for, on what there is: two replicas; then two stages and a replica of both; then
  // one.
  void give_roles(const std::vector<int>& usable, Meeting& next) const {
    const std::size_t wanted = std::array{std::size_t{2}, std::size_t{3}, std::size_t{1}}[from_.change];
    const std::size_t count = std::min(wanted, usable.size());
    for (std::size_t i = 0; i < count; ++i) {
      const int id = from_.change == 2 ? usable[usable.size() - 1 - i] : usable[i];
      const bool is_split = from_.change == 1 && count > 1 && i < 2;
      next.roles[static_cast<std::size_t>(id)] = is_split ? static_cast<Mask>(1U << i) : kAllSlices;
      put(next.members, id);
    }
  }

  [[nodiscard]] bool all_are_fenced(const std::vector<PodStanding>& pods,
                                    const std::vector<std::size_t>& taking_part) const {
    for (int generation = 1; generation <= from_.sealed; ++generation) {
      OlderGeneration older{.generation = generation, .pods = {}, .lease_has_lapsed = true};
      for (int id = 0; id < kWorkers; ++id) {
        if (meeting(generation).roles[static_cast<std::size_t>(id)] == 0) continue;
        older.pods.push_back(static_cast<std::size_t>(id));
        older.lease_has_lapsed = older.lease_has_lapsed && !has(from_.leased, id);
      }
      if (!older.pods.empty() && !is_fenced(older, pods, taking_part)) return false;
    }
    return true;
  }

  // --- faults ---

  void fail() {
    for (int id = 0; id < kWorkers; ++id) {
      if (has(from_.crashed, id)) continue;
      crash(id);
      if (!has(from_.suspected, id)) {
        World world = faulty();
        put(world.suspected, id);
        keep(std::move(world), true);
      }
      if (at(id).generation > 0 && meeting(at(id).generation).is_cut == 0) {
        World world = faulty();
        world.meetings[at(id).generation].is_cut = 1;
        keep(std::move(world), true);
      }
    }
  }

  [[nodiscard]] World faulty() const {
    World world = from_;
    ++world.faults;
    return world;
  }

  void crash(int id) {
    World world = faulty();
    worker_of(world, id) = {};
    put(world.crashed, id);
    remove(world.suspected, id);
    remove(world.leased, id);
    keep(std::move(world), true);
  }

  // --- the invariants ---

  // One step for which those had voted who have left since may still be finished, by somebody who was cut off or frozen
  // within it: to a state that nobody takes. A second one never.
  void note_vote(World& world, int generation, int step) const {
    Meeting& group = world.meetings[static_cast<std::size_t>(generation)];
    if (!have_all(group, group.voting, step) || world.history.newest_confirmed <= generation) return;
    if (group.has_finished_late != 0) complain_("two generations train at the same time");
    group.has_finished_late = 1;
  }

  void note_applied(History& history, std::uint8_t step, std::uint8_t generation) const {
    if (history.newest_confirmed > generation) {
      if (is_alone(generation)) complain_("a generation trains on without its lease while another trains");
      return;
    }
    std::uint8_t& by = history.applied[step];
    if (by != 0 && by != generation) complain_(fmt::format("step {} was applied by two generations", step));
    by = generation;
  }

  void note_confirmed(History& history, int id) const {
    const Worker& worker = at(id);
    if (worker.generation < history.newest_confirmed) return;  // too late: it will find its peers gone
    history.newest_confirmed = worker.generation;
    // Whoever has more is not at this meeting, or the check of meetings complains.
    if (worker.step != kCheckpointStep) history.applied[worker.step] = worker.updated_by;
    for (std::size_t step = worker.step + 1U; step <= kLastStep; ++step) history.applied[step] = 0;
  }

  // Going back is allowed only where the newest step, applied by anybody ever, is not all in the memory of those who
  // meet.
  void check_nothing_is_thrown_away(int generation, const Agreement& agreement) const {
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

  // --- the list ---

  // Forgets what can matter no more, so that worlds that differ only in it are one.
  void tidy(World& world) const {
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

  void keep(World world, bool is_fault) {
    tidy(world);
    if (!(world == from_)) list_.push_back({world, is_fault});
  }

  const World& from_;
  const Limits& limits_;
  const std::function<void(const std::string&)>& complain_;
  std::vector<Successor> list_;
};

}  // namespace

std::vector<Successor> successors(const World& world, const Limits& limits,
                                  const std::function<void(const std::string&)>& complain) {
  return Explorer(world, limits, complain).run();
}

}  // namespace sailor::trainer::exploration
