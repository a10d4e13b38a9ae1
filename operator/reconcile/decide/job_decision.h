// JobDecision: one decision in the making. decide.cc has its order; replan.cc, newcomers.cc, park.cc and generation.cc
// its steps.
#pragma once

#include "operator/model/conditions.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/pod_states.h"
#include "operator/reconcile/decide/trainer_failures.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor {

class JobDecision {
 public:
  explicit JobDecision(const Observation& observation) : observation_(observation), record_(observation.record) {}
  Decision run();

 private:
  // decide.cc: the life of a job.
  Decision finished();
  bool has_completed() const;
  bool someone_finished() const;
  bool is_past_deadline();
  void remove_running_pods();
  void await_termination_reports();
  void complete();
  void fail_job(std::string reason, std::string message);
  void suspend();
  void describe_suspension(bool has_pods);
  void hold_unreadable(const std::string& message);
  void train();

  // replan.cc: whether there must or may be another generation, and which.
  void start_first();
  void answer_disruption(const Disruption& disruption);
  void follow_spec();
  void use_new_capacity();
  void await_end_of_quarantine();
  enum class Urgency { kTrainsOn, kStandsStill };
  const PlanAnswer* ask(const std::vector<UsableNode>& nodes, const std::optional<Plan>& current,
                        Urgency urgency = Urgency::kTrainsOn);
  const PlanAnswer* ask_growing(const NodeQuery& question, const std::optional<Plan>& current);
  bool adopt(const PlanAnswer& answer, const NodeQuery& question, const std::string& reason,
             const std::string& message);
  void begin_generation(GenerationRecord next);
  GenerationRecord successor(const std::string& reason, const std::string& message) const;
  void explain_waiting(const Error& error, const ClusterState& cluster);
  std::set<std::string> pod_names() const;
  void expire_quarantine(GenerationRecord& record) const;

  // newcomers.cc: failures of the trainer, and pods that do not come to take part.
  void count_failure(const TrainerFailure& failure);
  bool go_on_without(const TrainerFailure& failure, bool counts);
  void watch_joining_pods();
  void withdraw(const std::string& message, const std::vector<QuarantinedNode>& quarantined_nodes);

  // park.cc: the state is saved, the pods go, and later the job starts again.
  void release_gpus(const std::string& reason, const std::string& message);
  bool can_save() const;
  bool is_saving() const;
  bool is_past_saving() const;
  bool is_unsaved() const;
  void tend_released();
  void start_again();
  void save_again();
  void place_again(const NodeQuery& question);
  std::string saved_words() const;
  std::string released_words() const;

  // seal.cc: who takes part in the newest generation, and when it may be told to them.
  void commit_membership_if_all_are_ready();
  void commit_membership(const PodStates& pod_states, const std::vector<std::size_t>& participants);
  bool await_older(const PodStates& pod_states, const std::vector<std::size_t>& participants);
  void remove_unreachable_pods(const OlderRecord& older);

  // generation.cc: the pods and the assignments of the newest generation.
  void carry_out();
  void remove_stale_pods();
  void create_missing_pods();
  void send_assignments();
  void update_callback();
  void remove_unused_pods();
  std::string first_missing() const;
  bool trains() const;
  bool is_released(const PodView& pod) const;
  void describe_generation();
  void describe_released();
  void requeue(std::chrono::milliseconds delay);
  void remove_pod(const PodView& pod);

  const Observation& observation_;
  std::optional<GenerationRecord> record_;  // the newest, after this decision
  bool is_failure_open_ = false;  // a pod that has failed is still to be answered, and must be seen until then
  std::string fence_;  // why the newest generation may not be told to anybody yet; empty: no older one is in its way
  Decision decision_;
  Conditions conditions_;
};

// "2 in us-central1-a/nvidia-l4/spot, 4 in ..."
std::string gpus_of(const Plan& plan);

}  // namespace sailor
