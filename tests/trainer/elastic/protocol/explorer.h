// Explorer: every event that can follow in one world. The protocol's own functions decide what becomes of it: the
// worker's machine, the agent's, and the operator's rules; here is only what may happen to them, and what must be true.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tests/trainer/elastic/protocol/agreement.h"
#include "tests/trainer/elastic/protocol/transition.h"

namespace sailor::trainer::exploration {

struct Successor {
  World world;
  Happening happening;
  bool is_sure = true;  // false: it may as well never happen, for a path that it takes is cut
};

struct Future {
  std::vector<Successor> successors;
  std::vector<std::string> complaints;  // invariants that do not hold
};

enum class Reduction : std::uint8_t {
  kNone,
  kTidy,  // worlds that differ only in what can matter no more are one (reduction.h)
};

class Explorer {
 public:
  Explorer(const Limits& limits, const Rules& rules, Reduction reduction = Reduction::kTidy)
      : limits_(limits), rules_(rules), reduction_(reduction), agreements_(rules_) {}
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  // Valid until it is asked again.
  const Future& future_of(const World& world);

 private:
  // explorer.cc: the worker machine, and what its shell does at each change of place.
  static Worker& worker_of(World& world, int worker) { return world.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Worker& at(int worker) const { return from_.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Meeting& meeting(int generation) const {
    return from_.meetings[static_cast<std::size_t>(generation)];
  }
  [[nodiscard]] Order order_of(int worker, int generation, bool is_prepared) const;
  [[nodiscard]] WorkerState state_of(int worker) const;
  static void write(const WorkerState& state, Worker& worker);
  // One event at one worker, in a world that the event may have changed elsewhere already.
  void step(World world, const Happening& happening, const Event& event);
  void arrive(World& world, int id) const;
  static void say_holding(World& world, int id);
  void begin_work(World& world, int id);
  void keep(World& world, const Happening& happening);
  void complain(std::string what) { future_.complaints.push_back(std::move(what)); }

  // worker_events.cc: what may happen to a worker.
  void hear(int id);
  void regroup(int id);
  [[nodiscard]] bool is_hosted(const Meeting& group) const;
  void meet(int id, const Meeting& group);
  void move(int id, const Meeting& group);
  void save(int id);
  [[nodiscard]] bool may_end_saving(int id, const Meeting& group) const;
  void take(int id, const Meeting& group, const Agreement& agreement);
  void confirm(int id, const Meeting& group);
  void train(int id);
  static bool have_all(const Meeting& group, const std::array<std::uint8_t, kWorkers>& reached, int step);
  void keep_lease(int id);
  [[nodiscard]] bool may_lose_a_peer(int id) const;
  [[nodiscard]] bool is_lost(int peer, int generation) const;

  // streaming_events.cc: what newcomers of a planned change are sent, and who waits for them.
  static bool may_follow(const World& world, int id);
  void follow(World world, int id);
  static void end_vain_following(World& world);
  void end_following(int id);
  void feed(World& world, int id, int step, bool is_last);
  void compute(int id);
  [[nodiscard]] bool may_wait(int id) const;
  [[nodiscard]] bool may_stop_waiting(int id) const;
  void check_no_change_is_put_off();

  // operator_events.cc: what the operator may do, and what may go wrong.
  void operate();
  void ask();
  [[nodiscard]] bool is_in_trouble() const;
  [[nodiscard]] bool is_parked() const;
  [[nodiscard]] bool is_unsaved() const;
  [[nodiscard]] Mask holders() const;
  void write_record(What what, Mask accused = 0);
  void withdraw();
  [[nodiscard]] Meeting planned() const;
  void seal();
  [[nodiscard]] std::vector<PodState> pod_states(const Meeting& next, bool is_late) const;
  void give_roles(const std::vector<int>& usable, Meeting& next) const;
  [[nodiscard]] std::vector<int> unfenced(const std::vector<PodState>& pods,
                                          const std::vector<std::size_t>& taking_part) const;
  void fail();
  [[nodiscard]] World faulty() const;
  void end(World& world, const Happening& happening);

  // path_events.cc: paths between two workers that both answer the operator.
  void cut_paths();
  [[nodiscard]] bool is_cut_off(int one, int other) const;
  [[nodiscard]] bool takes_a_cut_path(const Happening& happening) const;
  [[nodiscard]] Mask cuts_among(Mask workers) const;
  void give_up(What what);
  [[nodiscard]] bool may_be_ended(int id) const;
  [[nodiscard]] bool is_waited_for(int id) const;

  // invariants.cc: what must be true.
  void check(const World& world, int id, const WorkerState& before, const WorkerState& now);
  void note_vote(World& world, int generation, int step);
  void note_applied(World& world, int step, int generation);
  void check_all_can_follow_to(int step, int generation);
  static void note_confirmed(History& history, const WorkerState& state);
  void check_nothing_is_thrown_away(int generation, const Agreement& agreement);
  void check_holders_are_asked(const std::vector<std::size_t>& taking_part);
  void check_is_safe(const World& world, int id, const WorkerState& before);

  const Limits limits_;
  const Rules rules_;
  const Reduction reduction_;
  Agreements agreements_;
  World from_;
  Future future_;
};

}  // namespace sailor::trainer::exploration
