// World: a cluster with an operator in it, without time, threads or network: the API server, the kubelets and the
// agents are values that the test moves on step by step.
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
  void remove_node(const std::string& name);  // with its pods' agents, without notice
  void cut_off(const std::string& name);      // not ready, and its pods' agents give no answer, but live on
  void preempt(const std::string& name);      // the taint; pods and agents live on
  void add_job(Json spec_changes = Json::object());
  void change_job(const std::function<void(Json&)>& change);

  void reconcile();  // once, as after an event; Crash passes through
  void settle();     // reconciles, lets kubelets and agents work, until nothing changes
  void settle_through_crash(int write, bool after_commit);  // likewise, and the operator dies at that write of its own
  void restart_operator();
  void live();         // kubelets start pods, agents take assignments and train, deleted pods are gone
  void speak();        // all workers that were mute
  void break_peers();  // every live agent of the newest generation lost a peer
  void fail_pod(const std::string& pod, const std::string& why);
  void silence_worker(const std::string& pod, std::int64_t step);  // and its agent ends it
  void finish_pods();
  void pass(std::chrono::seconds time) { now += time; }

  [[nodiscard]] Json status() const;
  [[nodiscard]] std::string state() const { return kube::text_at(status(), {"state"}); }
  [[nodiscard]] std::string condition(const std::string& type) const;  // "True Training: The workers train."
  [[nodiscard]] std::vector<std::string> pods() const;
  [[nodiscard]] std::string pod_on(const std::string& node) const;
  [[nodiscard]] std::vector<std::string> nodes_in_use() const;
  [[nodiscard]] std::int64_t generation() const { return kube::integer_at(status(), {"plan", "generation"}); }
  [[nodiscard]] std::vector<std::string> events() const;

  OperatorSettings settings{.trainer_image = "trainer:1", .callback = "http://127.0.0.1:8082"};  // of the next start
  FakeApi api_server;
  Time now = *parse_rfc3339("2026-01-01T00:00:00Z");
  std::map<std::string, AgentView> agents;  // by the pod's UID
  std::vector<Assignment> sent;
  Nanoseconds forward_pass{1000};     // as profiles have it
  bool agents_hang = false;           // they keep their phase whatever they are sent
  bool workers_are_mute = false;      // new ones: their processes have not spoken yet
  std::set<std::string> stuck_nodes;  // pods do not start there
  std::string checkpoint_fault;       // why the state cannot be saved; empty: it can

 private:
  struct Operator;
  void refresh_caches();
  void end_pod(const std::string& pod, int exit_code, const WorkerReport& last);
  void train(const std::string& pod_uid, const Assignment& assignment);

  std::shared_ptr<Operator> operator_;
  std::map<std::string, std::shared_ptr<const Assignment>> mail_;  // by the pod's UID
};

}  // namespace sailor::testing
