// Explorer: computes all successors of one state. The protocol's own functions decide what a transition does: the state
// machines of worker and agent and the operator's rules. The explorer adds only what may happen and what must be true.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "tests/trainer/elastic/protocol/agreement.h"
#include "tests/trainer/elastic/protocol/transition.h"

namespace sailor::trainer::exploration {

struct Successor {
  World world;
  Transition transition;
  bool is_sure = true;  // false: it may never happen, because it needs a broken path or an urgent change
};

struct Future {
  std::vector<Successor> successors;
  std::vector<std::string> violations;  // violated invariants
};

enum class Reduction : std::uint8_t {
  kNone,
  kForgetIrrelevant,  // states that differ only in irrelevant information are equal (reduction.h)
};

class Explorer {
 public:
  Explorer(const Limits& limits, const Rules& rules, Reduction reduction = Reduction::kForgetIrrelevant)
      : limits_(limits), rules_(rules), reduction_(reduction), agreements_(rules_) {}
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  // Valid until the next call.
  const Future& future_of(const World& world);

 private:
  // explorer.cc has the state machine of a worker and what worker.cc does at each change of place.
  static Worker& worker_of(World& world, int worker) { return world.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Worker& at(int worker) const { return from_.workers[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Rendezvous& rendezvous(int generation) const {
    return from_.rendezvous_of[static_cast<std::size_t>(generation)];
  }
  [[nodiscard]] Command command_of(int worker, int generation, bool is_prepared) const;
  [[nodiscard]] WorkerState state_of(int worker) const;
  static void write(const WorkerState& state, Worker& worker);
  // Applies one event to one worker. The transition may have changed other parts of the world already.
  void step(World world, const Transition& transition, const Event& event);
  void arrive(World& world, int id) const;
  static void publish_state_report(World& world, int id);
  void begin_work(World& world, int id);
  void keep(World& world, const Transition& transition);
  void report_violation(std::string_view rule);

  // worker_events.cc has the events that may happen to a worker.
  void receive_assignments(int id);
  void regroup(int id);
  [[nodiscard]] bool is_hosted(const Rendezvous& group) const;
  void meet(int id, const Rendezvous& group);
  void move(int id, const Rendezvous& group);
  void save(int id);
  [[nodiscard]] bool may_end_saving(int id, const Rendezvous& group) const;
  void take(int id, const Rendezvous& group, const Agreement& agreement);
  void confirm(int id, const Rendezvous& group);
  void train(int id);
  static bool have_all(const Rendezvous& group, const std::array<std::uint8_t, kWorkers>& reached, int step);
  void keep_lease(int id);
  [[nodiscard]] bool may_lose_a_peer(int id) const;
  [[nodiscard]] bool is_lost(int peer, int generation) const;

  // streaming_events.cc has the state that is sent while workers train, and who waits for it.
  static bool may_stream(const World& world, int id);
  void start_streaming(World world, int id);
  static void end_useless_streaming(World& world);
  void end_streaming(int id);
  void stream(World& world, int id, int step, bool is_last);
  void drop_step(int id);
  void compute(int id);
  [[nodiscard]] bool may_wait(int id) const;
  [[nodiscard]] bool may_stop_waiting(int id) const;
  void check_no_change_is_postponed();

  // operator_events.cc has the actions of the operator and the faults.
  void operate();
  void write_next_record();
  [[nodiscard]] bool is_in_trouble() const;
  [[nodiscard]] bool may_restart_job() const;
  [[nodiscard]] bool is_unsaved() const;
  [[nodiscard]] Mask holders() const;
  void write_record(TransitionKind kind, Mask excluded = 0);
  void withdraw();
  [[nodiscard]] Rendezvous planned() const;
  void claim_folder();
  void commit_membership();
  [[nodiscard]] std::vector<PodState> pod_states(const Rendezvous& next, bool is_late) const;
  void give_roles(const std::vector<int>& usable, Rendezvous& next) const;
  [[nodiscard]] std::vector<int> unfenced(const std::vector<PodState>& pods,
                                          const std::vector<std::size_t>& taking_part) const;
  void fail();
  [[nodiscard]] World faulty() const;
  void end(World& world, const Transition& transition);

  // path_events.cc has broken paths between two workers that both answer the operator.
  void break_paths();
  [[nodiscard]] bool is_path_broken(int one, int other) const;
  [[nodiscard]] bool takes_a_broken_path(const Transition& transition) const;
  [[nodiscard]] Mask broken_paths_among(Mask workers) const;
  void give_up(TransitionKind kind);
  [[nodiscard]] bool may_be_deleted(int id) const;
  [[nodiscard]] bool is_awaited(int id) const;

  // invariants.cc has the invariants.
  void check(const World& world, int id, const WorkerState& before, const WorkerState& now);
  void note_vote(World& world, int generation, int step);
  void note_applied(World& world, int step, int generation);
  void check_all_can_apply(int step, int generation);
  static void note_confirmed(History& history, const WorkerState& state);
  void check_nothing_is_thrown_away(int generation, const Agreement& agreement);
  void check_holders_are_invited(const std::vector<std::size_t>& taking_part);
  void check_is_safe(const World& world, int id, const WorkerState& before);

  const Limits limits_;
  const Rules rules_;
  const Reduction reduction_;
  Agreements agreements_;
  World from_;
  Future future_;
};

}  // namespace sailor::trainer::exploration
