// Operator: all parts of the process put together, from its options to its end.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/model/network_model.h"
#include "operator/agents/agent_link.h"
#include "operator/kube/cluster_config.h"

namespace sailor {

struct OperatorOptions {
  kube::ClusterConfig cluster;
  std::string trainer_image;
  std::string metrics_address;   // "127.0.0.1:9090"; empty: none
  std::string health_address;    // likewise
  std::string callback_address;  // likewise; agents must be able to reach it
  std::string watch_namespace;   // empty: all
  std::string identity;          // of this process
  bool elects_leader = false;
  int planner_threads = 1;
  std::chrono::seconds pod_start_limit = OperatorSettings{}.start_limit;
  std::chrono::seconds cool_down = OperatorSettings{}.cool_down;
  std::chrono::seconds peer_timeout = OperatorSettings{}.peer_timeout;
  NetworkModel network = google_cloud_network();
  AgentLink::Options agents;

  [[nodiscard]] std::string callback_url() const {
    return callback_address.empty() ? "" : "http://" + callback_address;
  }
};

class Operator {
 public:
  explicit Operator(OperatorOptions options);
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  // Works until it is stopped (true) or has lost its leadership (false).
  bool run(std::stop_token stop);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sailor
