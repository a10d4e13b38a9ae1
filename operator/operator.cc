#include "operator/operator.h"

#include <list>
#include <thread>

#include <fmt/format.h>
#include <prometheus/exposer.h>

#include "operator/agents/callback_server.h"
#include "operator/health_server.h"
#include "operator/kube/http_transport.h"
#include "operator/kube/reflector.h"
#include "operator/leader/leader_election.h"
#include "operator/log.h"
#include "operator/metrics/metrics.h"
#include "operator/pass_log.h"
#include "operator/profile_shelf.h"
#include "operator/reconcile/controller.h"
#include "operator/reconcile/lineup.h"
#include "operator/reconcile/names.h"
#include "planner/manifest/manifest.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

using kube::Json;

constexpr auto kHousekeeping = std::chrono::seconds(2);    // between two looks at queue, cluster and process
constexpr auto kSettle = std::chrono::milliseconds(50);    // changes of nodes come in flocks
constexpr auto kStuck = std::chrono::minutes(2);           // a pass that takes longer hangs
constexpr auto kPlanningBudget = std::chrono::seconds(5);  // then the best plan so far will do
constexpr const char* kLeaderLease = "sailor-operator";

// The job that controls a pod or a ConfigMap of ours.
std::optional<JobKey> owner_of(const Json& object) {
  for (const Json& owner : kube::list_at(object, {"metadata", "ownerReferences"})) {
    const bool is_job =
        kube::text_at(owner, {"kind"}) == kube::kTrainingJobs.kind && kube::bool_at(owner, {"controller"});
    if (is_job) return JobKey{kube::space_of(object), kube::text_at(owner, {"name"})};
  }
  return std::nullopt;
}

std::vector<AgentTarget> targets_of(const Observation& seen) {
  std::vector<AgentTarget> targets;
  for (const PodView& pod : seen.pods) {
    const bool may_answer = pod.is_ours && !pod.has_ended() && !pod.ip.empty();
    if (may_answer) targets.push_back({pod.uid, pod.name, pod.ip, kAgentPort});
  }
  return targets;
}

}  // namespace

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

Operator::Parts::Parts(OperatorOptions given)
    : options(std::move(given)),
      queue([this](double seconds) { metrics.waited(seconds); }),
      transport(options.cluster),
      lease_api(transport, api_hooks(false)),
      election(lease_api, {.space = options.cluster.space, .name = kLeaderLease, .identity = options.identity}),
      api(transport, api_hooks(options.elects_leader)),
      profiles(caches.profiles),
      link(options.agents, [this](const JobKey& job) { queue.add(job); }),
      planning([this](const PlanQuestion& question, std::stop_token stop) { return search(question, stop); },
               planning_hooks(), options.planner_threads),
      observer(caches,
               {options.trainer_image, options.callback_url(), options.pod_start_limit, options.cool_down,
                options.peer_timeout},
               sources()),
      applier(api, caches, sinks(), options.identity),
      controller(observer, applier, queue, hooks()) {
  connect_caches();
}

kube::ApiHooks Operator::Parts::api_hooks(bool is_fenced) {
  kube::ApiHooks api_hooks;
  api_hooks.observe = [this](const std::string& method, int code, double seconds) {
    metrics.requested(method, code, seconds);
  };
  if (is_fenced) api_hooks.may_write = [this] { return election.may_write(); };
  return api_hooks;
}

ObserverSources Operator::Parts::sources() {
  ObserverSources sources;
  sources.read_job = job_from_manifest;
  sources.profiles = [this] { return profiles.book(); };
  sources.agents = [this](const JobKey& job) { return link.views(job); };
  sources.answers = [this](const JobKey& job) { return planning.answers(job); };
  return sources;
}

ApplierSinks Operator::Parts::sinks() {
  return {[this](const JobKey& job, const SendAssignment& send) { link.send(job, send.pod_uid, send.assignment); },
          [this](const PlanQuestion& question) { planning.ask(question); },
          [this](const JobKey& job, const TellCallback& tell) {
            link.tell_callback(job, tell.pod_uid, options.callback_url());
          }};
}

ControllerHooks Operator::Parts::hooks() {
  ControllerHooks hooks;
  hooks.follow = [this](const Observation& seen) { link.follow(seen.job.key, targets_of(seen)); };
  hooks.forget = [this](const JobKey& job) {
    link.follow(job, {});
    planning.forget(job);
    metrics.forget(job);
  };
  hooks.observe = [this](const ReconcileReport& report) {
    metrics.reconciled(report);
    log_pass(report);
  };
  return hooks;
}

PlanningService::Hooks Operator::Parts::planning_hooks() {
  PlanningService::Hooks hooks;
  hooks.answered = [this](const JobKey& job) { queue.add(job); };
  hooks.observe = [this](const PlanAnswer& answer, double seconds) {
    metrics.planned(answer, seconds);
    log_plan(answer, seconds);
  };
  return hooks;
}

Result<PlannedJob> Operator::Parts::search(const PlanQuestion& question, std::stop_token stop) const {
  const Simulator simulator(question.profiles ? *question.profiles : ProfileBook(), options.network);
  PlanOptions plan_options;
  plan_options.current = question.current;
  if (question.is_urgent) plan_options.scope = SearchScope::kNearCurrent;
  plan_options.budget = kPlanningBudget;
  return Planner(simulator).plan(question.job, question.cluster, plan_options, std::move(stop));
}

void Operator::Parts::add_all() {
  for (const kube::Object& job : caches.jobs.all()) queue.add_after(kube::key_of(*job), kSettle);
}

// Whatever changes, the jobs that it may concern are looked at.
void Operator::Parts::connect_caches() {
  const auto add_owner = [this](const Json& object) {
    if (const auto job = owner_of(object)) queue.add(*job);
  };
  caches.jobs.on_change([this](const Json& job) { queue.add(kube::key_of(job)); });
  caches.pods.on_change(add_owner);
  caches.records.on_change(add_owner);
  caches.foreign_pods.on_change([this](const Json&) { add_all(); });
  caches.nodes.on_change([this](const Json&) { add_all(); });
  caches.pools.on_change([this](const Json&) { add_all(); });
  caches.profiles.on_change([this](const Json&) {
    profiles.changed();
    add_all();
  });
}

void Operator::Parts::start_reflectors() {
  const std::string& space = options.watch_namespace;
  const std::string ours = kJobNameLabel;
  const auto add = [this](const kube::Resource& resource, kube::Selection selection, kube::Store& store) {
    kube::ReflectorHooks reflector_hooks;
    reflector_hooks.failed = [name = resource.plural](const kube::ApiError& error) {
      log_line(error.is_expired() ? spdlog::level::debug : spdlog::level::warn, "watch failed",
               {{"resource", name}, {"reason", error.message}});
    };
    kube::Reflector& reflector =
        reflectors.emplace_back(api, resource, std::move(selection), store, std::move(reflector_hooks));
    threads.emplace_back([&reflector](std::stop_token stop) { reflector.run(std::move(stop)); });
  };
  add(kube::kTrainingJobs, {space, "", ""}, caches.jobs);
  add(kube::kPods, {space, ours, ""}, caches.pods);
  add(kube::kPods, {space, "!" + ours, "status.phase!=Succeeded,status.phase!=Failed"}, caches.foreign_pods);
  add(kube::kNodes, {"", "", ""}, caches.nodes);
  add(kube::kGpuPools, {"", "", ""}, caches.pools);
  add(kube::kModelProfiles, {"", "", ""}, caches.profiles);
  add(kube::kConfigMaps, {space, std::string(kManagedByLabel) + "=" + kOperatorName, ""}, caches.records);
}

bool Operator::Parts::is_alive() const {
  const std::int64_t since = busy_since.load();
  if (since == 0) return true;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return now - std::chrono::seconds(since) < kStuck;
}

CallbackHooks Operator::Parts::callback_hooks() {
  CallbackHooks callback_hooks;
  callback_hooks.hinted = [this](const JobKey& job) {
    log_line(spdlog::level::debug, "hint", {{"job", to_string(job)}});
    link.poke(job);
    const kube::Object object = caches.jobs.find(job);
    return object != nullptr && needs_agents(*object);
  };
  callback_hooks.renews = [this](const LeaseQuestion& question) {
    const auto record = observer.record(question.job, question.job_uid);
    const bool leads = !options.elects_leader || election.may_write();
    return leads && record && is_renewed(*record, question.generation);
  };
  return callback_hooks;
}

void Operator::Parts::start_servers() {
  if (!options.metrics_address.empty()) {
    exposer = std::make_unique<prometheus::Exposer>(options.metrics_address, 1);
    exposer->RegisterCollectable(metrics.registry());
  }
  if (!options.health_address.empty()) {
    health = std::make_unique<HealthServer>(
        "http://" + options.health_address, [this] { return is_alive(); }, [this] { return caches.are_synced(); });
  }
  if (!options.callback_address.empty()) {
    callback = std::make_unique<CallbackServer>("http://" + options.callback_address, callback_hooks());
  }
}

void Operator::Parts::housekeep() {
  metrics.queue(queue.depth(), queue.statistics());
  metrics.leads(kLeaderLease, !options.elects_leader || election.may_write());
  if (caches.are_synced()) metrics.cluster(observer.cluster());
  metrics.process();
}

void Operator::Parts::work(std::stop_token stop) {
  while (!caches.are_synced() && !stop.stop_requested()) kube::interruptible_sleep(std::chrono::milliseconds(20), stop);
  log_line(spdlog::level::info, "reconciling", {{"jobs", std::to_string(caches.jobs.all().size())}});
  add_all();
  while (const auto key = queue.take(stop)) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    busy_since = std::chrono::duration_cast<std::chrono::seconds>(now).count() + 1;
    controller.reconcile(*key);
    queue.done(*key);
    busy_since = 0;
  }
}

// Reconciles for as long as it leads.
bool Operator::Parts::lead(std::stop_token stop) {
  if (options.elects_leader && !election.acquire(stop)) return true;
  if (options.elects_leader) log_line(spdlog::level::info, "leading", {{"identity", options.identity}});
  std::jthread worker([this](std::stop_token worker_stop) { work(std::move(worker_stop)); });
  bool has_lost = false;
  while (!stop.stop_requested() && !has_lost) {
    housekeep();
    if (options.elects_leader) {
      election.try_once();
      has_lost = !election.may_write();
    }
    if (!has_lost) kube::interruptible_sleep(kHousekeeping, stop);
  }
  worker.request_stop();
  worker.join();
  if (has_lost) log_line(spdlog::level::err, "leadership lost", {{"identity", options.identity}});
  if (options.elects_leader && !has_lost) election.release();
  return !has_lost;
}

Operator::Operator(OperatorOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

Operator::~Operator() {
  parts_->callback.reset();
  parts_->health.reset();
  for (std::jthread& thread : parts_->threads) thread.request_stop();
  parts_->threads.clear();
}

bool Operator::run(std::stop_token stop) {
  parts_->start_servers();
  parts_->start_reflectors();
  return parts_->lead(std::move(stop));
}

}  // namespace sailor
