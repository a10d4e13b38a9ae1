// JobDecision: one decision in the making. decide.cc has its order, replan.cc and generation.cc its steps.
#pragma once

#include "operator/reconcile/capacity.h"
#include "operator/reconcile/conditions.h"
#include "operator/reconcile/decision.h"
#include "operator/reconcile/failures.h"
#include "operator/reconcile/trouble.h"

namespace sailor {

class JobDecision {
 public:
  explicit JobDecision(const Observation& seen) : seen_(seen), record_(seen.record) {}
  Decision run();

 private:
  // decide.cc: the life of a job.
  Decision finished();
  bool has_completed() const;
  bool someone_finished() const;
  bool is_past_deadline();
  void remove_running_pods();
  void await_last_words();
  void complete();
  void fail_job(std::string reason, std::string message);
  void hold_suspended();
  void hold_unreadable(const std::string& message);
  void train();

  // replan.cc: whether there must or may be another generation, and which.
  void count_failure(const TrainerFailure& failure);
  void start_first();
  void answer_trouble(const Trouble& trouble);
  void follow_spec();
  void use_new_capacity();
  void wait_for_same_gpus(const Trouble& trouble);
  const PlanAnswer* ask(const std::vector<Candidate>& nodes, const std::optional<Plan>& current);
  const PlanAnswer* ask_growing(const CapacityQuestion& question, const std::optional<Plan>& current);
  bool adopt(const PlanAnswer& answer, const CapacityQuestion& question, const std::string& reason,
             const std::string& message);
  void begin_generation(GenerationRecord next);
  GenerationRecord successor(const std::string& reason, const std::string& message) const;
  void explain_waiting(const Error& error, const ClusterState& cluster);
  bool replaces_pods() const { return seen_.job.spec->elasticity != ElasticityMode::kLive; }
  std::set<std::string> pod_names() const;
  void forgive_suspects(GenerationRecord& record) const;

  // generation.cc: the pods and the assignments of the newest generation.
  void carry_out();
  bool remove_stale_pods();
  void create_missing_pods();
  void seal_if_all_answer();
  void send_assignments();
  void remove_unused_pods();
  std::string first_missing() const;
  bool trains() const;
  bool is_released(const PodView& pod) const;
  void describe_generation();
  void requeue(std::chrono::milliseconds delay);
  void remove_pod(const PodView& pod);

  const Observation& seen_;
  std::optional<GenerationRecord> record_;  // the newest, after this decision
  Decision decision_;
  Conditions conditions_;
};

}  // namespace sailor
