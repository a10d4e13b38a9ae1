// Explorer: every event that can follow in one world. The protocol's own functions decide what becomes of it: the
// worker's machine, the agent's, and the operator's rules; here is only what may happen to them, and what must be true.
#pragma once

#include <functional>
#include <vector>

#include "operator/protocol/fencing.h"
#include "tests/trainer/elastic/protocol/agreement.h"

namespace sailor::trainer::exploration {

class Explorer {
 public:
  Explorer(const World& world, const Limits& limits, const std::function<void(const std::string&)>& complain)
      : from_(world), limits_(limits), complain_(complain) {}

  std::vector<Successor> run();

 private:
  // explorer.cc: the worker machine, and what its shell does at each change of place.
  Worker& worker_of(World& world, int worker) const { return world.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Worker& at(int worker) const { return from_.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Meeting& meeting(int generation) const {
    return from_.meetings[static_cast<std::size_t>(generation)];
  }
  [[nodiscard]] Order order_of(int worker, int generation, bool is_prepared) const;
  [[nodiscard]] WorkerState state_of(int worker) const;
  static void write(const WorkerState& state, Worker& worker);
  // One event at one worker. `also` is what the event does to the rest of the world.
  void step(
      int id, const Event& event, const std::function<void(World&)>& also = [](World&) {});
  void arrive(World& world, int id) const;
  void begin_work(World& world, int id) const;
  void tidy(World& world) const;
  void keep(World world, bool is_fault);

  // worker_events.cc: what may happen to a worker.
  void hear(int id);
  void regroup(int id);
  [[nodiscard]] bool is_hosted(const Meeting& group) const;
  void meet(int id, const Meeting& group);
  void move(int id, const Meeting& group);
  void confirm(int id, const Meeting& group);
  void train(int id);
  static bool have_all(const Meeting& group, const std::array<std::uint8_t, kWorkers>& reached, int step);
  [[nodiscard]] bool is_alone(int generation) const;
  void keep_lease(int id);
  [[nodiscard]] bool may_lose_a_peer(int id) const;
  [[nodiscard]] bool is_lost(int peer, int generation) const;

  // operator_events.cc: what the operator may do, and what may go wrong.
  void operate();
  [[nodiscard]] bool is_in_trouble() const;
  void write_record(bool is_change);
  void seal();
  [[nodiscard]] std::vector<PodStanding> standings(const Meeting& next, bool is_late) const;
  void give_roles(const std::vector<int>& usable, Meeting& next) const;
  [[nodiscard]] bool all_are_fenced(const std::vector<PodStanding>& pods,
                                    const std::vector<std::size_t>& taking_part) const;
  void fail();
  [[nodiscard]] World faulty() const;
  void crash(int id);

  // invariants.cc: what must be true.
  void note_vote(World& world, int generation, int step) const;
  void note_applied(History& history, std::uint8_t step, std::uint8_t generation) const;
  void note_confirmed(History& history, int id) const;
  void check_nothing_is_thrown_away(int generation, const Agreement& agreement) const;

  const World& from_;
  const Limits& limits_;
  const std::function<void(const std::string&)>& complain_;
  std::vector<Successor> list_;
};

}  // namespace sailor::trainer::exploration
