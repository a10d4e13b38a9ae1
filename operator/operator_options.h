// OperatorOptions: the settings with which the process of the operator starts, mostly from its flags.
#pragma once

#include <chrono>
#include <string>

#include "core/model/network_model.h"
#include "core/net/http_message.h"
#include "operator/agents/agent_link.h"
#include "operator/kube/cluster_config.h"

namespace sailor {

struct OperatorOptions {
  kube::ClusterConfig cluster;
  std::string trainer_image;
  std::string metrics_address;   // the server of metrics listens here: "127.0.0.1:9090"; empty: no such server
  std::string health_address;    // the server of the kubelet's probes listens here; empty: no such server
  std::string callback_address;  // the server that agents must be able to reach listens here; empty: no such server
  std::string status_address;    // the server of the pages for people listens here; empty: no such server
  std::string identity;          // names this process in the leader election and in events
  std::string pod;               // of this process; empty: it runs outside of a pod
  std::vector<std::string> namespaces;  // the operator runs the jobs of these; empty: of all namespaces
  bool elects_leader = false;
  std::string lease_name = "sailor-operator";  // of the leader election; each release has its own
  std::string ca_secret = "sailor-ca";         // the Secret with the operator's CA; each release has its own
  bool isolates_jobs = true;                   // OperatorSettings::isolates_jobs
  std::string kueue_version;                   // OperatorSettings::kueue_version
  int planner_threads = 1;
  std::chrono::seconds pod_start_limit = OperatorSettings{}.start_limit;
  std::chrono::seconds new_node_limit = OperatorSettings{}.new_node_limit;
  std::chrono::seconds cool_down = OperatorSettings{}.cool_down;
  std::chrono::seconds peer_timeout = OperatorSettings{}.peer_timeout;
  ComputeCapability least_capability = kLeastComputeCapability;
  NetworkModel network = google_cloud_network();
  AgentLink::Options agents;

  [[nodiscard]] std::string callback_url() const {
    return callback_address.empty() ? "" : "https://" + net::with_brackets(callback_address);
  }
};

}  // namespace sailor
