#include "operator/reconcile/decide/queueing.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "core/model/counted.h"
#include "operator/model/observation_queries.h"
#include "operator/model/rival.h"
#include "operator/reconcile/decide/better_plan.h"
#include "operator/reconcile/decide/quota.h"
#include "operator/reconcile/decide/yielding.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

using kube::Json;

constexpr int kMostWorkloads = 16;  // of a job
constexpr int kMostGpus = 4096;     // that a job without maxGpus asks for
// Until then, nodes that are missing for a moment may be why there is no plan.
constexpr std::chrono::seconds kNoPlanIsFinal{60};

bool has_pods(const Observation& observation) {
  return std::ranges::any_of(observation.pods, [](const PodView& pod) { return pod.is_ours && !pod.has_ended(); });
}

bool has_gpus(const Observation& observation) { return observation.record && !observation.record->releases_gpus; }

bool is_useless(const Workload& workload) { return useless_for_generation(workload).has_value(); }

std::vector<const Workload*> those_that(const QueueView& queue, bool (Workload::*is)() const) {
  std::vector<const Workload*> found;
  for (const Workload& workload : queue.workloads) {
    if ((workload.*is)()) found.push_back(&workload);
  }
  return found;
}

// Returns all GPUs of the cluster that the job could use, whoever uses them now.
int most_gpus(const Observation& observation) {
  const ResourceSpec& resources = observation.job.spec->resources;
  const Demand demand = demand_of(*observation.job.spec, observation.job.pod_template);
  std::int64_t gpus = 0;
  for (const NodeView& node : observation.cluster->nodes) {
    if (!node.is_terminating && demand.may_use(node)) gpus += node.gpus;
  }
  for (const auto& [key, pool] : observation.cluster->pools) {
    if (!demand.may_use_growth(key, observation.cluster->labels_of_new_node(key))) continue;
    const std::int64_t nodes = observation.cluster->growth_left(pool, observation.job.uid, observation.now);
    gpus += nodes * pool.gpus_per_node;
  }
  const std::int64_t most = resources.max_gpus.value_or(kMostGpus);
  return static_cast<int>(std::max<std::int64_t>(resources.min_gpus, std::min(most, gpus)));
}

// Returns whether a node with these labels could be of a pool that the job may use.
bool allows_flavor(const Observation& observation, const Flavor& flavor) {
  const ResourceSpec& resources = observation.job.spec->resources;
  const bool has_node = std::ranges::any_of(observation.cluster->nodes, [&](const NodeView& node) {
    return resources.allows(node.pool) && node.has_labels(flavor.labels);
  });
  return has_node || std::ranges::any_of(observation.cluster->pools, [&](const auto& pool) {
           return resources.allows(pool.first) &&
                  has_all(observation.cluster->labels_of_new_node(pool.first), flavor.labels);
         });
}

// Adds a node affinity for the flavors with GPUs that the job may use. A flavor without labels may have any nodes, and
// an affinity would exclude it.
void restrict_flavors(Json& spec, const Observation& observation) {
  Json terms = Json::array();
  bool has_excluded = false;
  for (const auto& [name, flavor] : observation.queue.value().flavors) {
    if (flavor.labels.empty()) return;
    if (!allows_flavor(observation, flavor)) {
      has_excluded = true;
      continue;
    }
    Json expressions = Json::array();
    for (const auto& [label, value] : flavor.labels)
      expressions.push_back({{"key", label}, {"operator", "In"}, {"values", Json::array({value})}});
    terms.push_back({{"matchExpressions", std::move(expressions)}});
  }
  if (!has_excluded || terms.empty() || spec.contains("affinity")) return;
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {{"nodeSelectorTerms", terms}};
}

WorkloadRequest request_for(const Observation& observation, int gpus, int least_gpus) {
  const QueueView& queue = observation.queue.value();
  Json spec = scheduling_spec(observation.job.pod_template);
  restrict_flavors(spec, observation);
  return {queue.name, queue.priority, std::max(gpus, least_gpus), least_gpus, std::move(spec)};
}

PolicyResult ask_for_more(const Observation& observation, const WorkloadRequest& request) {
  int number = 1;
  for (const Workload& workload : observation.queue.value().workloads)
    number = std::max(number, number_of(workload, observation.job.key, observation.job.uid) + 1);
  PolicyResult result;
  result.actions.emplace_back(CreateWorkload{
      new_workload(request, observation.settings.kueue_version, observation.job.key, observation.job.uid, number)});
  return result;
}

void delete_workload(PolicyResult& result, const Workload& workload) {
  if (!workload.is_deleting) result.actions.emplace_back(DeleteWorkload{workload.name, kube::uid_of(*workload.object)});
}

// Returns whether the job trains by the plan that it keeps for now, so that its use of GPUs tells what it needs.
bool is_settled(const Observation& observation) {
  const auto& record = observation.record;
  return record && !record->releases_gpus && !record->running && trains(observation, *record) &&
         observation.now >= record->decided_at + observation.settings.cool_down;
}

// What a job that trains would like: GPUs beyond its quota, or fewer than it has.
struct Wish {
  PolicyResult question;  // to the planner, if it is not known yet
  int more_gpus = 0;
  bool is_content = false;  // no plan is clearly better, neither with the GPUs of its quota nor with others
};

Wish wish_of(const Observation& observation, const GenerationRecord& record) {
  Wish wish;
  NodeQuery query = NodeQuery::for_change(observation.job.spec->elasticity);
  const BetterPlan within = look_for_better_plan_with_growth(observation, record, query);
  if (within.lookup.answer == nullptr || within.is_found) return wish;  // change_to_better_plan() asks, and changes
  query.ignores_quota = true;
  const BetterPlan beyond = look_for_better_plan_with_growth(observation, record, query);
  wish.question = ask_planner(beyond.lookup);
  if (beyond.lookup.answer == nullptr) return wish;
  const int quota = quota_of(observation.queue.value());
  if (beyond.is_found) wish.more_gpus = std::max(0, gpu_count(beyond.lookup.answer->result->plan) - quota);
  wish.is_content = !beyond.is_found;
  return wish;
}

// Returns how many GPUs of its quota the job could use now at all.
int present_gpus(const Observation& observation) {
  const NodeQuery query = NodeQuery::for_change(observation.job.spec->elasticity);
  int gpus = 0;
  for (const UsableNode& node : usable_nodes(observation, query)) {
    if (observation.job.spec->resources.allows(node.pool)) gpus += node.gpus;
  }
  return gpus;
}

// Gives back what the running plan does not use, the newest Workloads first.
PolicyResult return_unused(const Observation& observation, const GenerationRecord& record) {
  PolicyResult result;
  const QueueView& queue = observation.queue.value();
  if (present_gpus(observation) < quota_of(queue)) return result;  // the job waits for nodes to come back
  std::map<std::string, int> used = gpus_by_flavor(observation, record.placement);
  for (const Workload& workload : queue.workloads) {
    const int needed = std::min(used[workload.flavor], workload.gpus());
    used[workload.flavor] -= needed;
    if (needed == workload.gpus()) continue;
    if (needed == 0) {
      delete_workload(result, workload);
    } else {
      result.actions.emplace_back(ReplaceWorkloadStatus{with_returned(workload, needed)});
    }
  }
  return result;
}

// Returns what a job without enough quota asks for. If it has GPUs, it keeps them meanwhile; if it has none, it asks
// for all that it needs at once, so it never holds a part for nothing.
WorkloadRequest request_to_start(const Observation& observation) {
  const int least = observation.job.spec->resources.min_gpus;
  const int kept = has_gpus(observation) ? quota_of(observation.queue.value()) : 0;
  return request_for(observation, most_gpus(observation) - kept, std::max(1, least - kept));
}

// Returns what the job asks for now with a Workload that waits; nothing if it needs no more GPUs.
std::optional<WorkloadRequest> request_of_waiting(const Observation& observation, const Workload& waiting) {
  const int quota = quota_of(observation.queue.value());
  if (quota < observation.job.spec->resources.min_gpus) return request_to_start(observation);
  const int more = std::min(waiting.asked_gpus, most_gpus(observation) - quota);
  return more > 0 ? std::optional(request_for(observation, more, 1)) : std::nullopt;
}

// Keeps one Workload that waits, and lets it ask for what the job needs now.
PolicyResult update_waiting(const Observation& observation, const std::vector<const Workload*>& waiting) {
  PolicyResult result;
  for (const Workload* further : waiting | std::views::drop(1)) delete_workload(result, *further);
  const Workload& workload = *waiting.front();
  if (const auto generation = useless_for_generation(workload)) {
    if (*generation != observation.job.spec_generation) delete_workload(result, workload);
    return result;
  }
  const auto request = request_of_waiting(observation, workload);
  if (!request) {
    delete_workload(result, workload);
  } else if (!asks_for(workload, *request)) {
    result.actions.emplace_back(ReplaceWorkload{with_request(workload, *request)});
  }
  return result;
}

// A job that waits for more GPUs than it has quota for gives those back, and asks for all of them.
PolicyResult ask_from_the_start(const Observation& observation) {
  PolicyResult result;
  const auto& workloads = observation.queue.value().workloads;
  const auto gives_gpus = [](const Workload& workload) { return workload.gpus() > 0; };
  if (!has_gpus(observation)) {
    if (has_pods(observation)) return result;  // they end first
    for (const Workload& workload : workloads | std::views::filter(gives_gpus)) delete_workload(result, workload);
  }
  if (!std::ranges::all_of(workloads, gives_gpus)) return result;  // one of them asks already
  merge(result, ask_for_more(observation, request_to_start(observation)));
  return result;
}

// If a job that has never had GPUs has no plan for those that it could use now, lets other jobs have them.
PolicyResult return_useless(const Observation& observation) {
  PolicyResult result;
  const ConditionStatus* planned = observation.job.status.find(ConditionType::kPlanned);
  const bool is_infeasible = planned != nullptr && planned->condition.reason == Reason::kPlanInfeasible;
  if (!is_infeasible || observation.record) return result;
  for (const Workload& workload : observation.queue.value().workloads) {
    if (workload.gpus() == 0) continue;
    const Time end = workload.admitted_at.value_or(observation.now) + kNoPlanIsFinal;
    if (observation.now < end) {
      requeue(result, time_until(observation.now, end));
    } else {
      result.actions.emplace_back(ReplaceWorkload{as_useless(workload, observation.job.spec_generation)});
    }
  }
  return result;
}

PolicyResult serve_settled_job(const Observation& observation, bool may_ask_planner) {
  const GenerationRecord& record = observation.record.value();
  const Wish wish = wish_of(observation, record);
  if (!wish.question.actions.empty()) return may_ask_planner ? wish.question : PolicyResult();
  const bool has_room = std::ssize(observation.queue.value().workloads) < kMostWorkloads;
  if (wish.more_gpus > 0 && has_room) return ask_for_more(observation, request_for(observation, wish.more_gpus, 1));
  return wish.is_content ? return_unused(observation, record) : PolicyResult();
}

// Says which Workloads have pods on some of their GPUs. The GPUs of the first one are used first.
PolicyResult report_readiness(const Observation& observation) {
  PolicyResult result;
  int used = 0;
  if (const auto& record = observation.record; record && trains(observation, *record)) {
    for (const Slot& slot : record->placement.slots) used += slot.gpus;
  }
  for (const Workload& workload : observation.queue.value().workloads) {
    if (workload.gpus() == 0) continue;
    const bool is_ready = used > 0;
    used -= workload.gpus();
    if (says_pods_ready(workload, is_ready)) continue;
    result.actions.emplace_back(ReplaceWorkloadStatus{with_pods_ready(workload, is_ready, observation.now)});
  }
  return result;
}

// Kueue may give the GPUs to others as soon as this is written.
PolicyResult give_back(const Observation& observation, const std::vector<const Workload*>& wanted_back) {
  PolicyResult result;
  if (!are_pods_within_quota(observation)) return result;
  for (const Workload* workload : wanted_back)
    result.actions.emplace_back(ReplaceWorkloadStatus{without_reservation(*workload, observation.now)});
  return result;
}

PolicyResult leave_queue(const Observation& observation) {
  PolicyResult result;
  const bool ends_pods = observation.job.spec->suspend && has_pods(observation);
  for (const Workload& workload : observation.queue.value().workloads) {
    if (!ends_pods || !workload.has_reservation) delete_workload(result, workload);
  }
  return result;
}

PolicyResult serve_job_in_queue(const Observation& observation, const PolicyResult& decided) {
  const QueueView& queue = observation.queue.value();
  const auto wanted_back = those_that(queue, &Workload::must_give_back);
  if (!wanted_back.empty()) return give_back(observation, wanted_back);
  if (!queue.fault.empty()) return {};
  const auto waiting = those_that(queue, &Workload::is_pending);
  PolicyResult result;
  if (!waiting.empty()) result = update_waiting(observation, waiting);
  if (quota_of(queue) < observation.job.spec->resources.min_gpus) {
    merge(result, ask_from_the_start(observation));
    return result;
  }
  merge(result, return_useless(observation));
  merge(result, report_readiness(observation));
  // One write of a Workload at a time, because each needs the version that the one before has made.
  if (waiting.empty() && result.actions.empty() && !decided.record && is_settled(observation))
    merge(result, serve_settled_job(observation, decided.actions.empty()));
  return result;
}

std::string gpus_text(const Workload& workload) {
  const int least = workload.least_gpus;
  const int most = workload.asked_gpus;
  return least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
}

std::string why_it_waits(const QueueView& queue) {
  if (!queue.fault.empty()) return queue.fault;
  for (const Workload& workload : queue.workloads) {
    if (workload.must_give_back()) return fmt::format("Kueue has taken the GPUs back: {}", workload.eviction);
    if (is_useless(workload)) {
      return fmt::format(
          "There was no plan for the GPUs that queue {} gave, so the job has given them back. Change its "
          "spec, for example to more minGpus, or set spec.active of Workload {} to true to try again.",
          queue.name, workload.name);
    }
    if (!workload.is_active)
      return fmt::format("Workload {} is not active, so queue {} gives no GPUs.", workload.name, queue.name);
    const std::string words = workload.waiting.empty() ? "" : fmt::format(" Kueue says: {}", workload.waiting);
    if (workload.gpus() == 0) {
      return fmt::format("Workload {} waits in queue {} for {} GPUs.{}", workload.name, queue.name, gpus_text(workload),
                         words);
    }
  }
  return fmt::format("The job is about to ask queue {} for GPUs.", queue.name);
}

}  // namespace

std::optional<PolicyResult> await_quota(const Observation& observation) {
  const auto& queue = observation.queue;
  if (!queue || queue->name.empty()) return std::nullopt;
  const bool has_quota = quota_of(*queue) >= observation.job.spec->resources.min_gpus;
  if (find_queue(observation) != nullptr && has_quota) return std::nullopt;
  const bool has_no_plan = std::ranges::any_of(queue->workloads, is_useless);
  PolicyResult result;
  result.conditions[ConditionType::kPlanned] =
      no(has_no_plan ? Reason::kPlanInfeasible : Reason::kWaitingForQuota, why_it_waits(*queue));
  return result;
}

std::optional<PolicyResult> yield_to_queue(const Observation& observation) {
  const QueueView* queue = find_queue(observation);
  const GenerationRecord& record = observation.record.value();
  if (queue == nullptr || is_within_quota(observation, record.placement)) return std::nullopt;
  if (record.is_committed() && !trains(observation, record)) return std::nullopt;
  const auto wanted_back = those_that(*queue, &Workload::must_give_back);
  const std::string text =
      wanted_back.empty() ? fmt::format("Queue {} gives the job {}.", queue->name, counted(quota_of(*queue), "GPU"))
                          : fmt::format("Kueue takes back the GPUs of Workload {}: {}", wanted_back.front()->name,
                                        wanted_back.front()->eviction);
  return give_up_gpus(observation, record, {Reason::kPreempted, text}, {Reason::kWaitingForQuota, text});
}

void serve_queue(PolicyResult& result, const Observation& observation) {
  if (!observation.queue || !observation.job.spec) return;
  if (observation.queue->name.empty() || observation.job.spec->suspend) {
    merge(result, leave_queue(observation));
  } else if (find_queue(observation) != nullptr) {
    merge(result, serve_job_in_queue(observation, result));
  }
}

std::vector<Action> finish_workloads(const Observation& observation) {
  std::vector<Action> actions;
  if (!observation.queue) return actions;
  const ConditionStatus* failed = observation.job.status.find(ConditionType::kFailed);
  const bool has_failed = failed != nullptr && failed->condition.truth == Truth::kTrue;
  const std::string message = has_failed ? failed->condition.message : "The job has done all steps.";
  for (const Workload& workload : observation.queue->workloads) {
    if (workload.is_deleting) continue;
    actions.emplace_back(ReplaceWorkloadStatus{as_finished(workload, !has_failed, message, observation.now)});
  }
  return actions;
}

}  // namespace sailor
