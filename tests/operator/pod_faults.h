// Faults of pods and of the paths between them, and slow GPUs, in a world whose jobs live at random.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/model/names.h"
#include "tests/operator/world.h"

namespace sailor::testing {

class PodFaults {
 public:
  explicit PodFaults(World& world) : world_(world) {}

  // The pods of a job on these two nodes cannot reach each other, or can again.
  void toggle_path(const std::string& one, const std::string& other) {
    const auto path = std::minmax(one, other);
    if (paths_.erase({path.first, path.second}) == 0) paths_.insert({path.first, path.second});
  }

  // Somebody deletes the pod on the node, which may take this time to end. Returns false if there is none.
  bool evict(const std::string& node, std::chrono::seconds grace) {
    const Json pod = world_.api_server.find("pods", world_.pod_on(node));
    if (pod.is_null() || kube::is_deleting(pod)) return false;
    if (kube::text_at(pod, {"spec", "nodeName"}).empty()) {  // no kubelet has to end it
      world_.api_server.erase(kPodCollection, kube::name_of(pod));
      return true;
    }
    world_.evict(node, grace);
    const auto agent = world_.agents.find(kube::uid_of(pod));
    if (agent != world_.agents.end() && agent->second.report) agent->second.report->is_terminating = true;
    return true;
  }

  void toggle_slow(const World::Gpu& gpu, double factor) {
    if (slow_.erase(gpu) == 0) slow_[gpu] = factor;
  }
  void train() {
    world_.pass(std::chrono::seconds(1));
    world_.do_step(slow_, 1);
  }

  // What kubelets and workers make of the faults.
  void take_effect() {
    end_evicted_pods();
    report_broken_paths();
  }

  // The kubelets report the pods whose agents have told that they end.
  void end_told_failures() {
    for (const Json& pod : world_.api_server.all("pods")) {
      const auto agent = world_.agents.find(kube::uid_of(pod));
      if (agent == world_.agents.end() || !agent->second.report || !agent->second.report->exit_status) continue;
      world_.fail_pod(kube::name_of(pod), agent->second.report->workers.front().message);
    }
  }

  void mend() {
    paths_.clear();
    slow_.clear();
    world_.frozen_nodes.clear();
  }

  // The workers of the job with a pod on the node notice that a peer is gone.
  void break_peers(const std::string& node) {
    std::set<std::string> jobs;
    for (const Json& pod : world_.api_server.all("pods")) {
      if (node_of_pod(pod) == node) jobs.insert(kube::label_of(pod, kJobUidLabel));
    }
    for (const Json& pod : world_.api_server.all("pods")) {
      if (!jobs.contains(kube::label_of(pod, kJobUidLabel))) continue;
      if (AgentView* agent = answering(pod)) break_workers(*agent);
    }
  }

 private:
  static constexpr const char* kPodCollection = "/api/v1/namespaces/default/pods";

  AgentView* answering(const Json& pod) {
    const auto agent = world_.agents.find(kube::uid_of(pod));
    const bool answers = agent != world_.agents.end() && agent->second.report && agent->second.answers();
    const bool is_frozen = world_.frozen_nodes.contains(node_of_pod(pod));
    return answers && !is_frozen ? &agent->second : nullptr;
  }

  void break_workers(AgentView& agent) const {
    for (WorkerReport& worker : agent.report->workers) {
      if (worker.phase == WorkerPhase::kTraining) worker.phase = WorkerPhase::kBroken;
    }
    if (!agent.broken_since) agent.broken_since = world_.now;
  }

  // The newest generation in which a worker of the agent takes part; 0: none.
  static std::int64_t generation_of(const AgentView& agent) {
    std::int64_t generation = 0;
    for (const WorkerReport& worker : agent.report->workers) {
      const bool takes_part = worker.phase == WorkerPhase::kTraining || worker.phase == WorkerPhase::kBroken;
      if (takes_part) generation = std::max(generation, worker.generation);
    }
    return generation;
  }

  void end_evicted_pods() {
    for (const Json& pod : world_.api_server.all("pods")) {
      const auto end = parse_rfc3339(kube::text_at(pod, {"metadata", "deletionTimestamp"}));
      const std::string node = node_of_pod(pod);
      if (!end || *end > world_.now || world_.api_server.find("nodes", node).is_null()) continue;
      break_peers(node);
      world_.agents.erase(kube::uid_of(pod));
      world_.api_server.erase(kPodCollection, kube::name_of(pod));
    }
  }

  void report_broken_paths() {
    const std::vector<Json> pods = world_.api_server.all("pods");
    for (const Json& pod : pods) {
      if (AgentView* agent = answering(pod)) agent->report->unresponsive_peers = missed_by(pod, *agent, pods);
    }
  }

  std::vector<std::string> missed_by(const Json& pod, AgentView& agent, const std::vector<Json>& pods) {
    std::vector<std::string> missed;
    const std::int64_t generation = generation_of(agent);
    const std::string node = node_of_pod(pod);
    for (const Json& other : pods) {
      const std::string other_node = kube::annotation_of(other, kNodeAnnotation);
      const AgentView* peer = answering(other);
      const bool is_of_job = kube::label_of(other, kJobUidLabel) == kube::label_of(pod, kJobUidLabel);
      const bool takes_part = peer != nullptr && generation > 0 && generation_of(*peer) == generation;
      const auto path = std::minmax(node, other_node);
      if (is_of_job && takes_part && paths_.contains({path.first, path.second})) missed.push_back(kube::name_of(other));
    }
    if (!missed.empty()) break_workers(agent);
    return missed;
  }

  World& world_;
  std::set<std::pair<std::string, std::string>> paths_;  // between two nodes, in order of their names
  std::map<World::Gpu, double> slow_;                    // how many times as long a pass takes
};

}  // namespace sailor::testing
