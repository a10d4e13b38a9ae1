// The parts that an operator consists of. parts.cc makes them and connects them to each other, watches.cc to the API
// server's objects; operator.cc runs them.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include <prometheus/exposer.h>

#include "operator/agents/callback_server.h"
#include "operator/health_server.h"
#include "operator/kube/http_transport.h"
#include "operator/kube/reflector.h"
#include "operator/leader/leader_election.h"
#include "operator/metrics/metrics.h"
#include "operator/operator.h"
#include "operator/profile_cache.h"
#include "operator/reconcile/controller.h"

namespace sailor {

inline constexpr const char* kLeaderLease = "sailor-operator";

struct Operator::Parts {
  explicit Parts(OperatorOptions given);

  void connect_caches();
  void start_reflectors();
  void start_servers();
  bool lead(std::stop_token stop);
  void work(std::stop_token stop);
  void housekeep();
  void add_all();
  bool is_alive() const;
  Result<PlannedJob> search(const PlanQuestion& question, std::stop_token stop) const;

  ObserverSources sources();
  ApplierSinks sinks();
  ControllerHooks hooks();
  CallbackHooks callback_hooks();
  PlanningService::Hooks planning_hooks();
  kube::ApiHooks api_hooks(bool is_fenced);

  OperatorOptions options;
  Metrics metrics;
  WorkQueue queue;
  kube::HttpTransport transport;
  kube::Api lease_api;
  LeaderElection election;
  kube::Api api;
  Caches caches;
  ProfileShelf profiles;
  AgentLink link;
  PlanningService planning;
  Observer observer;
  Applier applier;
  Controller controller;
  std::atomic<std::int64_t> busy_since{0};  // of the pass under way, in seconds of the steady clock; 0: none
  std::list<kube::Reflector> reflectors;
  std::vector<std::jthread> threads;
  std::unique_ptr<prometheus::Exposer> exposer;
  std::unique_ptr<HealthServer> health;
  std::unique_ptr<CallbackServer> callback;
};

}  // namespace sailor
