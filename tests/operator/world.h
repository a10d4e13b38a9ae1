// World: a cluster with an operator in it, without time, threads or network. The API server, the kubelets and the
// agents are values that a test changes step by step.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "operator/kube/api.h"
#include "operator/reconcile/controller.h"
#include "tests/operator/fake_api.h"

namespace sailor::testing {

class World {
 public:
  World();

  void add_node(const std::string& name, int gpus, const std::string& zone = "us-central1-a");
  void remove_node(const std::string& name);  // removes the node without notice; the agents on it no longer answer
  void cut_off(const std::string& name);      // the node is not ready, and its agents do not answer, but they run on
  void preempt(const std::string& name);      // the node gets the taint of a termination; its pods and agents run on
  void add_job(Json spec_changes = Json::object());
  void change_job(const std::function<void(Json&)>& change);

  void reconcile();  // reconciles once, as after an event; throws Crash if a fault ends the operator
  void settle();     // reconciles and lets kubelets and agents work, until nothing changes
  // Settles while the operator dies once: before its write number `write` (from 0) takes effect, or after it.
  void settle_through_crash(int write, bool after_commit);
  void restart_operator();
  void live();         // kubelets start pods, and agents take their assignments and train
  void speak();        // the processes of all mute workers report
  void break_peers();  // each agent that answers reports that its workers have lost a peer
  void fail_pod(const std::string& pod, const std::string& why);
  void silence_worker(const std::string& pod, std::int64_t step);  // a worker is unresponsive, and its agent stops it
  void finish_pods();
  void evict(const std::string& node, std::chrono::seconds grace);  // the pod on the node
  void pass(std::chrono::seconds time) { now += time; }

  [[nodiscard]] Json status() const;
  [[nodiscard]] std::string state() const { return kube::text_at(status(), {"state"}); }
  [[nodiscard]] std::string condition(const std::string& type) const;  // "True Training: The workers train."
  [[nodiscard]] std::vector<std::string> pods() const;
  [[nodiscard]] std::string pod_on(const std::string& node) const;
  AgentView& agent_on(const std::string& node);
  [[nodiscard]] std::vector<std::string> nodes_in_use() const;
  [[nodiscard]] std::int64_t generation() const { return kube::integer_at(status(), {"plan", "generation"}); }
  [[nodiscard]] std::vector<std::string> events() const;

  // The settings of the next operator that starts.
  OperatorSettings settings{.trainer_image = "trainer:1", .callback = "http://127.0.0.1:8082"};
  FakeApi api_server;
  Time now = *parse_rfc3339("2026-01-01T00:00:00Z");
  std::map<std::string, AgentView> agents;  // by the UID of the pod
  std::vector<Assignment> sent;
  std::optional<std::chrono::milliseconds> requeue_after;  // what the last decision asked for
  Nanoseconds forward_pass{1000};                          // the time of a forward pass in the profiles
  bool agents_hang = false;                                // agents ignore what they are sent
  bool workers_are_mute = false;                           // the worker processes of new pods do not report yet
  std::set<std::string> stuck_nodes;                       // no pod starts on these nodes
  std::string checkpoint_fault;                            // why workers cannot save their state; empty: they can

 private:
  struct Operator;
  void refresh_caches();
  void end_pod(const std::string& pod, int exit_code, const WorkerReport& last);
  void train(const std::string& pod_uid, const Assignment& assignment);

  std::shared_ptr<Operator> operator_;
  std::map<std::string, std::shared_ptr<const Assignment>> mail_;  // by the UID of the pod
};

}  // namespace sailor::testing
