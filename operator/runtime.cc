#include "operator/runtime.h"

#include <stdexcept>
#include <thread>
#include <vector>

#include "core/log/log.h"
#include "core/manifest/manifest.h"
#include "core/protocol/limits.h"
#include "core/protocol/ports.h"
#include "operator/health_routes.h"
#include "operator/metrics/metrics_route.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/pod_states.h"
#include "operator/reconcile/decide/suspension.h"
#include "operator/reconcile_log.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

constexpr auto kMetricsPeriod = std::chrono::seconds(2);
constexpr auto kLeaseRenewal = std::chrono::seconds(2);
// A reconcile mostly waits for the API server.
constexpr int kReconcilesAtOnce = 8;
constexpr auto kAuthorityPause = std::chrono::seconds(2);
constexpr auto kAuthorityCheck = std::chrono::seconds(30);
constexpr auto kPlanningBudget = std::chrono::seconds(5);  // a search that takes longer returns its best plan so far

std::vector<AgentTarget> targets_of(const Observation& observation) {
  std::vector<AgentTarget> targets;
  for (const PodView& pod : observation.pods) {
    const bool may_answer = pod.is_ours && (!pod.has_ended() || pod.is_ending) && !pod.ip.empty();
    if (may_answer && !pod.is_gone) targets.push_back({pod.uid, pod.name, pod.ip, kAgentPort});
  }
  for (const Member& member : observation.vanished) {
    targets.push_back({member.pod_uid, member.address.name, member.address.host, member.address.port});
  }
  return targets;
}

// Throws if the address cannot be used; run_until_signal() in main.cc then ends the program.
std::unique_ptr<net::HttpServer> serve(const std::string& address, std::vector<net::Route> routes,
                                       const net::HttpServerSettings& settings = {}) {
  auto server = net::HttpServer::listen(address, std::move(routes), settings);
  if (!server) throw std::runtime_error(server.error().message);
  return *std::move(server);
}

}  // namespace

OperatorRuntime::OperatorRuntime(OperatorOptions given_options)
    : options_(std::move(given_options)),
      queue_([this](double seconds) { metrics_.waited(seconds); }),
      transport_(options_.cluster),
      lease_api_(transport_, api_hooks(false)),
      election_(lease_api_, {.namespace_name = options_.cluster.namespace_name,
                             .name = options_.lease_name,
                             .identity = options_.identity,
                             .pod = options_.pod}),
      api_(transport_, api_hooks(options_.elects_leader)),
      caches_(options_.namespaces, !options_.kueue_version.empty()),
      profiles_(caches_.profiles),
      link_(link_options(),
            [this](const JobKey& job, AgentNews news) {
              queue_.add(job, news == AgentNews::kSteps ? Lane::kRoutine : Lane::kUrgent);
            }),
      planning_([this](const PlanQuestion& question, std::stop_token stop) { return search(question, stop); },
                planning_hooks(), options_.planner_threads),
      observer_(caches_,
                {options_.trainer_image, options_.callback_url(), options_.pod_start_limit, options_.new_node_limit,
                 options_.cool_down, options_.peer_timeout, options_.least_capability, options_.isolates_jobs,
                 options_.kueue_version},
                sources()),
      events_(api_, options_.identity),
      applier_(api_, caches_, refusals_, secured_jobs_, sinks()),
      leftovers_(api_, caches_),
      controller_(leftovers_, observer_, applier_, queue_, hooks()),
      pool_statuses_(api_, caches_, log_pool_failure),
      watches_(api_, caches_, observer_.jobs(), queue_, [this] { profiles_.changed(); }) {}

kube::ApiHooks OperatorRuntime::api_hooks(bool is_fenced) {
  kube::ApiHooks api_hooks;
  api_hooks.requested = [this](const std::string& method, int code, double seconds) {
    metrics_.requested(method, code, seconds);
    watchdog_.progress(std::chrono::steady_clock::now());
  };
  if (is_fenced) api_hooks.may_write = [this] { return election_.may_write(); };
  return api_hooks;
}

AgentLink::Options OperatorRuntime::link_options() {
  AgentLink::Options link_options = options_.agents;
  link_options.clock = [this] { return clock_.now(); };
  link_options.identity = [this] { return issuer_->own(); };
  return link_options;
}

ObserverSources OperatorRuntime::sources() {
  ObserverSources sources;
  sources.read_job = job_from_manifest;
  sources.profiles = [this] { return profiles_.book(); };
  sources.agents = [this](const JobKey& job) { return link_.views(job); };
  sources.answers = [this](const JobKey& job) { return planning_.take_answers(job); };
  sources.refusal = [this](const JobKey& job) { return refusals_.find(job); };
  sources.secured_at = [this](const JobKey& job, const std::string& uid) { return secured_jobs_.find(job, uid); };
  sources.trust_change = [this] { return issuer_->trust_change(); };
  sources.status_age = [this](const JobKey& job, const std::string& uid, MonotonicTime now) {
    return now - status_times_.find_or_note(job, uid, now);
  };
  sources.clock = [this] { return clock_.now(); };
  return sources;
}

ApplierSinks OperatorRuntime::sinks() {
  return {[this](const JobKey& job, const SendAssignment& send) { link_.send(job, send.pod_uid, send.assignment); },
          [this](const PlanQuestion& question) { planning_.ask(question); },
          [this](const JobKey& job) { planning_.withdraw(job); },
          [this](const JobKey& job, const UpdateCallback& update) {
            link_.update_callback(job, update.pod_uid, options_.callback_url());
          },
          [this](const JobReference& job, const JobEvent& event) { events_.take(job, event); },
          [this](const JobKey& job) { queue_.add(job); },
          [this](const JobKey& job, const ClaimFolder& claim) { link_.claim(job, claim.pod_uid, claim.claim); },
          [this](const JobKey& job) { return issuer_->issue(job); },
          [this](const JobReference& job) { status_times_.note(job.key, job.uid, monotonic_time()); }};
}

ControllerHooks OperatorRuntime::hooks() {
  ControllerHooks hooks;
  hooks.follow = [this](const Observation& observation) {
    link_.follow(observation.job.key, targets_of(observation));
    deleted_jobs_.note(observation.job.key, observation.job.uid);
    if (!observation.vanished.empty()) link_.poll_now(observation.job.key);  // do they live?
  };
  hooks.forget = [this](const JobKey& job) {
    link_.follow(job, {});
    planning_.forget(job);
    refusals_.forget(job);
    secured_jobs_.forget(job);
    status_times_.forget(job);
    metrics_.forget(job);
    deleted_jobs_.note_absence(job);
  };
  hooks.waits = [this] { watchdog_.end(); };
  hooks.goes_on = [this] { watchdog_.begin(std::chrono::steady_clock::now()); };
  hooks.reconciled = [this](const ReconcileReport& report) {
    metrics_.reconciled(report);
    log_reconcile(report);
  };
  return hooks;
}

PlanningService::Hooks OperatorRuntime::planning_hooks() {
  PlanningService::Hooks hooks;
  hooks.answered = [this](const JobKey& job) { queue_.add(job); };
  hooks.clock = [this] { return clock_.now(); };
  hooks.planned = [this](const PlanAnswer& answer, double seconds) {
    metrics_.planned(answer, seconds);
    log_plan(answer, seconds);
  };
  return hooks;
}

Result<PlannedJob> OperatorRuntime::search(const PlanQuestion& question, std::stop_token stop) const {
  const Simulator simulator(question.profiles ? *question.profiles : ProfileBook(), options_.network,
                            options_.network.execution_model());
  PlanOptions plan_options;
  plan_options.current = question.current;
  plan_options.current_cluster = question.current_cluster;
  if (question.is_urgent) plan_options.scope = SearchScope::kNearCurrent;
  plan_options.expected_lifetime = question.lifetime;
  plan_options.budget = kPlanningBudget;
  return Planner(simulator).plan(question.job, question.cluster, plan_options, std::move(stop));
}

CallbackHooks OperatorRuntime::callback_hooks() {
  CallbackHooks callback_hooks;
  callback_hooks.hinted = [this](const Hint& hint) {
    log_debug("hint", {{"job", to_string(hint.job)}, {"agent", hint.agent}});
    link_.poll_now(hint.job);
    const kube::Object object = caches_.jobs.find(hint.job);
    // A new job may have the name of the agent's.
    if (object != nullptr && (hint.job_uid.empty() || hint.job_uid == kube::uid_of(*object)))
      return needs_agents(*object) ? HintAnswer::kNeeded : HintAnswer::kDismissed;
    return deleted_jobs_.contains(hint.job_uid) ? HintAnswer::kDismissed : HintAnswer::kUnknown;
  };
  callback_hooks.renews = [this](const LeaseQuestion& question) {
    const auto record = observer_.record(question.job, question.job_uid);
    if (!may_write() || !record) return LeaseAnswer::kUnknown;
    return is_renewed(*record, question.generation) ? LeaseAnswer::kRenewed : LeaseAnswer::kRefused;
  };
  return callback_hooks;
}

PageSources OperatorRuntime::page_sources() const {
  return {[this] { return *observer_.cluster(); },
          [this](const JobKey& job, const std::string& uid) { return observer_.record(job, uid); },
          [this] { return clock_.now(); }};
}

bool OperatorRuntime::may_write() const { return !options_.elects_leader || election_.may_write(); }

bool OperatorRuntime::is_alive() const { return !watchdog_.is_stuck(std::chrono::steady_clock::now()); }

void OperatorRuntime::start_probes_metrics_and_pages() {
  if (!options_.metrics_address.empty())
    metrics_server_ = serve(options_.metrics_address, {metrics_route(metrics_)}, {.has_own_thread = true});
  if (!options_.health_address.empty()) {
    health_ = serve(options_.health_address, health_routes([this] { return is_alive(); },
                                                           [this] { return caches_.are_synced() && has_issuer_; }));
  }
  if (!options_.status_address.empty()) pages_ = serve(options_.status_address, page_routes(caches_, page_sources()));
}

bool OperatorRuntime::await_caches(const std::stop_token& stop) const {
  while (!caches_.are_synced() && !stop.stop_requested()) {
    kube::interruptible_sleep(std::chrono::milliseconds(20), stop);
  }
  return !stop.stop_requested();
}

// Without the CA the operator can talk to no agent, so it waits until the Secret can be read or made.
bool OperatorRuntime::await_authority(const std::stop_token& stop) {
  const JobKey secret{options_.cluster.namespace_name, options_.ca_secret};
  std::string told;
  while (!stop.stop_requested()) {
    auto authority = find_authorities(lease_api_, secret, nullptr, system_time());
    if (authority) {
      issuer_ = std::make_unique<CredentialIssuer>(*std::move(authority));
      has_issuer_ = true;
      return true;
    }
    const std::string reason = authority.error().message;
    if (reason != told) log_error("cannot use the CA", {{"secret", to_string(secret)}, {"reason", reason}});
    told = reason;
    kube::interruptible_sleep(kAuthorityPause, stop);
  }
  return false;
}

// Somebody may replace the CA at any time, and the operator's own certificate is renewed each day.
void OperatorRuntime::follow_authority(const std::stop_token& stop) {
  const JobKey secret{options_.cluster.namespace_name, options_.ca_secret};
  std::string told;
  while (kube::interruptible_sleep(kAuthorityCheck, stop), !stop.stop_requested()) {
    const Authorities known = issuer_->authorities();
    auto found = find_authorities(lease_api_, secret, &known, system_time());
    const std::string reason = found ? "" : found.error().message;
    if (!found && reason != told) log_error("cannot check the CA", {{"secret", to_string(secret)}, {"reason", reason}});
    told = reason;
    if (!found || !issuer_->replace(*std::move(found))) continue;
    log_info("trusted CAs changed", {{"secret", to_string(secret)}});
    watches_.queue_all_jobs();
  }
}

void OperatorRuntime::start_callback_server() {
  if (options_.callback_address.empty()) return;
  callback_ = serve(options_.callback_address, callback_routes(callback_hooks()),
                    {.largest_body = kLargestCallback, .tls = [this] { return issuer_->own(); }});
}

void OperatorRuntime::update_metrics() {
  metrics_.queue(queue_.depth(), queue_.statistics());
  metrics_.leads(options_.lease_name, may_write());
  if (caches_.are_synced()) {
    const FleetSnapshot fleet = observer_.fleet();
    metrics_.cluster(*fleet.cluster, *fleet.histories);
  }
  metrics_.process();
}

void OperatorRuntime::reconcile_jobs(const std::stop_token& stop) {
  while (const auto key = queue_.take(stop)) {
    watchdog_.begin(std::chrono::steady_clock::now());
    controller_.reconcile(*key);
    queue_.done(*key);
    watchdog_.end();
  }
}

// A thread of its own calls it, so that a slow API server delays neither jobs nor the renewal of the lease.
void OperatorRuntime::write_pool_statuses(const std::stop_token& stop) {
  while (!stop.stop_requested()) kube::interruptible_sleep(pool_statuses_.write(observer_.fleet()), stop);
}

void OperatorRuntime::renew_lease(const std::stop_token& stop) {
  while (kube::interruptible_sleep(kLeaseRenewal, stop), !stop.stop_requested()) election_.try_once();
}

// Waits for the leadership, then reconciles until a stop (returns true) or until the leadership is lost (returns
// false).
bool OperatorRuntime::reconcile_while_leading(std::stop_token stop) {
  if (options_.elects_leader && !election_.acquire(stop)) return true;
  if (options_.elects_leader) log_info("leading", {{"identity", options_.identity}});
  const std::jthread event_sender([this](std::stop_token sender_stop) { events_.run(std::move(sender_stop)); });
  std::jthread pool_writer;
  // An operator of some namespaces may not write outside of them, and several of them would contradict each other.
  if (options_.namespaces.empty())
    pool_writer = std::jthread([this](const std::stop_token& writer_stop) { write_pool_statuses(writer_stop); });
  log_info("reconciling", {{"jobs", std::to_string(caches_.jobs.all().size())}});
  watches_.queue_all_jobs();
  std::vector<std::jthread> workers;
  workers.reserve(kReconcilesAtOnce);
  for (int i = 0; i < kReconcilesAtOnce; ++i)
    workers.emplace_back([this](const std::stop_token& worker_stop) { reconcile_jobs(worker_stop); });
  // A renewal takes long if the API server does not answer. That the lease has expired is noticed all the same.
  std::jthread renewer;
  if (options_.elects_leader)
    renewer = std::jthread([this](const std::stop_token& renewer_stop) { renew_lease(renewer_stop); });
  bool has_lost = false;
  while (!stop.stop_requested() && !has_lost) {
    update_metrics();
    has_lost = !may_write();
    if (!has_lost) kube::interruptible_sleep(kMetricsPeriod, stop);
  }
  if (has_lost) log_error("leadership lost", {{"identity", options_.identity}});
  renewer.request_stop();
  for (std::jthread& worker : workers) worker.request_stop();
  workers.clear();
  if (has_lost) return false;
  events_.flush();
  if (renewer.joinable()) {
    renewer.join();
    election_.release();
  }
  return true;
}

OperatorRuntime::~OperatorRuntime() {
  callback_.reset();
  pages_.reset();
  health_.reset();
  metrics_server_.reset();
  watches_.stop();
}

bool OperatorRuntime::run(std::stop_token stop) {
  start_probes_metrics_and_pages();
  watches_.start(options_.namespaces, options_.kueue_version);
  if (!await_caches(stop) || !await_authority(stop)) return true;
  const std::jthread follower([this](const std::stop_token& follower_stop) { follow_authority(follower_stop); });
  start_callback_server();  // an operator that knows no job yet must not answer agents
  return reconcile_while_leading(std::move(stop));
}

}  // namespace sailor
