// OperatorRuntime: the operator's process. It makes all parts, connects them to each other, and runs them.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>

#include "core/net/http_server.h"
#include "operator/agents/agent_link.h"
#include "operator/agents/callback_routes.h"
#include "operator/agents/credential_issuer.h"
#include "operator/agents/deleted_jobs.h"
#include "operator/kube/gradual_clock.h"
#include "operator/kube/http_transport.h"
#include "operator/leader/leader_election.h"
#include "operator/metrics/metrics.h"
#include "operator/operator_options.h"
#include "operator/pages/page_routes.h"
#include "operator/profile_cache.h"
#include "operator/reconcile/controller.h"
#include "operator/reconcile/job_times.h"
#include "operator/reconcile/planning_service.h"
#include "operator/reconcile/pool_status_writer.h"
#include "operator/watchdog.h"
#include "operator/watches.h"

namespace sailor {

class OperatorRuntime {
 public:
  explicit OperatorRuntime(OperatorOptions options);
  ~OperatorRuntime();
  OperatorRuntime(const OperatorRuntime&) = delete;
  OperatorRuntime& operator=(const OperatorRuntime&) = delete;

  // Reconciles the jobs. Returns true after a stop, and false once the leadership is lost.
  bool run(std::stop_token stop);

 private:
  void start_probes_metrics_and_pages();
  bool await_caches(const std::stop_token& stop) const;  // returns false after a stop
  bool await_authority(const std::stop_token& stop);     // makes issuer_; returns false after a stop
  void follow_authority(const std::stop_token& stop);
  void start_callback_server();
  void renew_lease(const std::stop_token& stop);
  bool reconcile_while_leading(std::stop_token stop);
  void reconcile_jobs(const std::stop_token& stop);
  void write_pool_statuses(const std::stop_token& stop);
  void update_metrics();
  [[nodiscard]] bool is_alive() const;
  [[nodiscard]] bool may_write() const;
  [[nodiscard]] Result<PlannedJob> search(const PlanQuestion& question, std::stop_token stop) const;

  AgentLink::Options link_options();
  ObserverSources sources();
  ApplierSinks sinks();
  ControllerHooks hooks();
  CallbackHooks callback_hooks();
  PlanningService::Hooks planning_hooks();
  [[nodiscard]] PageSources page_sources() const;
  kube::ApiHooks api_hooks(bool is_fenced);

  OperatorOptions options_;
  Metrics metrics_;
  Watchdog watchdog_{std::chrono::minutes(2)};
  WorkQueue queue_;
  kube::HttpTransport transport_;
  kube::Api lease_api_;  // for what an operator does that does not lead
  LeaderElection election_;
  kube::Api api_;
  Caches caches_;
  ProfileCache profiles_;
  DeletedJobs deleted_jobs_;
  std::atomic<bool> has_issuer_ = false;
  std::unique_ptr<CredentialIssuer> issuer_;  // set before any agent is asked
  mutable GradualClock clock_;                // of all decisions; reading it changes it
  AgentLink link_;
  PlanningService planning_;
  PodRefusals refusals_;
  SecuredJobs secured_jobs_;
  StatusTimes status_times_;
  Observer observer_;
  EventSender events_;
  Applier applier_;
  Leftovers leftovers_;
  Controller controller_;
  PoolStatusWriter pool_statuses_;
  Watches watches_;
  std::unique_ptr<net::HttpServer> metrics_server_;
  std::unique_ptr<net::HttpServer> health_;
  std::unique_ptr<net::HttpServer> pages_;
  std::unique_ptr<net::HttpServer> callback_;
};

}  // namespace sailor
