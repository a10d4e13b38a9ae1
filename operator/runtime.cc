#include "operator/runtime.h"

#include "core/manifest/manifest.h"
#include "core/protocol/ports.h"
#include "operator/log.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/pod_states.h"
#include "operator/reconcile_log.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

constexpr auto kPlanningBudget = std::chrono::seconds(5);  // then the best plan so far will do

std::vector<AgentTarget> targets_of(const Observation& seen) {
  std::vector<AgentTarget> targets;
  for (const PodView& pod : seen.pods) {
    const bool may_answer = pod.is_ours && !pod.has_ended() && !pod.ip.empty();
    if (may_answer) targets.push_back({pod.uid, pod.name, pod.ip, kAgentPort});
  }
  return targets;
}

}  // namespace

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

}  // namespace sailor
