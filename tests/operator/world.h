// World: a cluster with an operator in it, without time, threads or network. The API server, the kubelets and the
// agents are values that a test changes step by step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "operator/kube/api.h"
#include "operator/reconcile/controller.h"
#include "tests/operator/fake_api.h"

namespace sailor::testing {

class World {
 public:
  World();

  void add_node(const std::string& name, int gpus, const std::string& zone = "us-central1-a");
  void remove_node(const std::string& name);   // removes the node without notice; the agents on it no longer answer
  void cut_off(const std::string& name);       // the node is not ready, and its agents do not answer, but they run on
  void lose_label(const std::string& name);    // the node loses the label of its accelerator; everything runs on
  void force_delete(const std::string& node);  // the pod's object on the node is deleted; the pod runs on
  void add_pool(const std::string& name, const Json& spec_changes = Json::object());  // the pool of add_node()
  // The autoscaler makes a node for each of the first `most` pods that wait for a new one. Returns the nodes' names.
  std::vector<std::string> make_nodes(int most = 1000);
  // The autoscaler says something about each pod that waits for a new node.
  void say_of_new_nodes(const std::string& reason, const std::string& message, const char* source = kClusterAutoscaler);
  void preempt(const std::string& name);  // the node gets the taint of a termination; its pods and agents run on
  void add_job(Json spec_changes = Json::object(), const Json& labels = Json::object());
  void add_priority_class(const std::string& name, int value, const Json& changes = Json::object());
  void change_job(const std::function<void(Json&)>& change);

  void delete_job();  // the TrainingJob alone; what it owns stays until the garbage collector comes
  // What the garbage collector does to the objects that the job owns: it removes the owner from them, as for
  // `--cascade=orphan`, or deletes them.
  void disown();
  void collect_garbage();
  void collect_objects_of_absent_jobs();  // what the garbage collector does to objects whose owner does not exist
  void lose_record();                     // somebody deletes the JobRecord

  void reconcile();  // reconciles once, as after an event; throws Crash if a fault ends the operator
  // Observes and decides now, and applies the decision when the result is called, as an operator that was paused in
  // between. The result returns whether all of it was applied.
  std::function<bool()> reconcile_later();
  // Writes the statuses of the GpuPools. Returns the time to wait before the next call.
  std::chrono::milliseconds write_pool_statuses() { return write_pool_statuses_later()(); }
  // Looks at the cluster now, and writes when the result is called, as an operator that was paused in between.
  std::function<std::chrono::milliseconds()> write_pool_statuses_later();
  void reconcile_all_jobs();  // each of them once
  void settle();              // reconciles and lets kubelets and agents work, until nothing changes
  void settle_all_jobs();     // the same for all jobs, one after the other
  // Settles while the operator dies once: before its write number `write` (from 0) takes effect, or after it.
  void settle_through_crash(int write, bool after_commit);
  void restart_operator();
  using Gpu = std::pair<std::string, int>;  // the name of a node, and the index of a GPU on it
  // All workers report the next step, or the next probe if they are released. Passes take this many times as long on
  // the GPUs in `slowdowns`.
  void do_step(const std::map<Gpu, double>& slowdowns, double step_seconds);
  void deliver_one(std::size_t which);  // one of the agents that were sent an assignment takes it
  [[nodiscard]] std::size_t mails() const { return mail_.size(); }
  void live();         // kubelets start pods, and agents take their assignments and train
  void speak();        // the processes of all mute workers report
  void break_peers();  // each agent that answers reports that its workers have lost a peer
  void fail_pod(const std::string& pod, const std::string& why);
  // The agent of the pod tells that a worker has failed, and ends; its kubelet has not noticed that yet.
  void tell_failure(const std::string& pod, const std::string& why);
  void silence_worker(const std::string& pod, std::int64_t step);  // a worker is unresponsive, and its agent stops it
  void finish_pod(const std::string& pod);  // its workers have done all steps, and its agent has ended
  void finish_pods();                       // the same for all pods that have started
  void evict(const std::string& node, std::chrono::seconds grace);  // the pod on the node
  void pass(std::chrono::seconds time) {
    now += time;
    monotonic += time;
  }
  void step_clock(std::chrono::seconds by) { now += by; }  // somebody sets the clock of the operator's machine

  [[nodiscard]] GenerationRecord record() const;
  [[nodiscard]] Json status() const;
  [[nodiscard]] Json pool_status(const std::string& pool) const;
  [[nodiscard]] std::string state() const { return kube::text_at(status(), {"state"}); }
  [[nodiscard]] std::string condition(const std::string& type) const;  // "True Training: The workers train."
  [[nodiscard]] std::vector<std::string> pods() const;
  [[nodiscard]] std::vector<std::string> nodes_of(const std::string& job) const;  // those with its pods
  [[nodiscard]] std::vector<Json> pods_without_node() const;
  [[nodiscard]] std::vector<std::string> zones_of_awaited_nodes() const;  // of each pod that waits for a new node
  [[nodiscard]] std::string pod_on(const std::string& node) const;
  AgentView& agent_on(const std::string& node);
  [[nodiscard]] std::vector<std::string> nodes_in_use() const;
  [[nodiscard]] std::int64_t generation() const { return kube::integer_at(status(), {"plan", "generation"}); }
  [[nodiscard]] std::vector<std::string> events() const;

  JobKey job{"default", "job"};             // the job that the functions above are about
  std::optional<TrustChange> trust_change;  // of the CAs that the operator trusts
  std::string trusted_cas = "CA";
  // The settings of the next operator that starts.
  OperatorSettings settings{.trainer_image = "trainer:1", .callback = "http://127.0.0.1:8082"};
  FakeApi api_server;
  Time now = *parse_rfc3339("2026-01-01T00:00:00Z");
  MonotonicTime monotonic{std::chrono::hours(1)};
  std::map<std::string, AgentView> agents;  // by the UID of the pod
  std::vector<Assignment> sent;
  std::optional<std::chrono::milliseconds> requeue_after;  // what the last decision asked for
  std::vector<JobKey> woken;                               // the jobs that the controller looks at after it
  Nanoseconds forward_pass{1000};                          // the time of a forward pass in the profiles
  bool marks_kept_plans = false;                           // PlannedJob::keeps_current
  Seconds pause;                                           // of a change to another plan, as the planner estimates it
  std::vector<std::string> pool_failures;                  // why statuses of GpuPools were not written
  bool agents_hang = false;                                // agents ignore what they are sent
  bool workers_are_mute = false;                           // the worker processes of new pods do not report yet
  std::set<std::string> stuck_nodes;                       // no pod starts on these nodes
  std::set<std::string> frozen_nodes;     // the agents on these nodes answer nothing, although the nodes are ready
  std::set<std::string> infeasible_jobs;  // no plan fits these jobs
  std::string claim_fault;                // why agents cannot claim the checkpoint folder
  std::int64_t steps_reported = 0;        // by do_step()
  std::string checkpoint_fault;           // why workers cannot save their state; empty: they can

 private:
  struct Operator;
  // What the job owns: pods, record, ConfigMap, Secret, NetworkPolicy; each with the path of its collection.
  [[nodiscard]] std::vector<std::pair<const char*, Json>> owned_objects() const;
  void refresh_caches();
  void check_view(const ClusterView& seen) const;
  void stamp_new_pods();
  void refresh_plan_maps(kube::Store& plan_maps) const;
  [[nodiscard]] bool is_frozen(const std::string& pod_uid) const;
  [[nodiscard]] std::map<std::string, AgentView> polled_agents(const JobKey& key) const;
  [[nodiscard]] int free_gpus_of(const std::string& node) const;  // -1: the node does not exist
  void end_pod(const std::string& pod, int exit_code, const WorkerReport& last);
  void train(const std::string& pod_uid, const Assignment& assignment);
  [[nodiscard]] std::optional<JobProgress> saved(const Assignment& assignment) const;

  std::shared_ptr<Operator> operator_;
  int nodes_made_ = 0;
  std::set<std::string> force_deleted_;                            // UIDs of pods
  std::map<std::string, std::shared_ptr<const Assignment>> mail_;  // by the UID of the pod
};

}  // namespace sailor::testing
