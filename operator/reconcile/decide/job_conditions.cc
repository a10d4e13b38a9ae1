#include "operator/reconcile/decide/job_conditions.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/model/counted.h"
#include "operator/model/names.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/new_nodes.h"
#include "operator/reconcile/decide/plan_lookup.h"
#include "operator/reconcile/decide/saving.h"
#include "operator/reconcile/decide/slow_gpus.h"
#include "operator/reconcile/decide/state_at_risk.h"

namespace sailor {
namespace {

using enum ConditionType;

// A sentence about a ConfigMap that another object owns; empty: there is none.
std::string plan_map_problem(const Observation& observation) {
  if (!observation.plan_map || observation.plan_map->is_ours) return {};
  return fmt::format(" ConfigMap {} is not the job's, so it does not show the plan; delete or rename it.",
                     plan_map_name(observation.job.key.name));
}

// Returns how many node pools the plan uses. The pools of speed grades are parts of them.
std::ptrdiff_t node_pools(const Plan& plan) {
  std::set<PoolKey> pools;
  for (const auto& [graded, gpus] : gpus_by_pool(plan)) {
    PoolKey pool = graded;
    pool.grade = 0;
    pools.insert(pool);
  }
  return std::ssize(pools);
}

// Returns ", 1 of them in z/nvidia-l4/spot/slow7" for each speed grade in the plan; empty: it expects no slow GPU.
std::string slow_part(const Plan& plan) {
  std::string text;
  for (const auto& [pool, gpus] : gpus_by_pool(plan)) {
    if (pool.grade > 0) text += fmt::format(", {} of them in {}", gpus, to_string(pool));
  }
  return text;
}

// Says why the job does not change to a better plan that it knows; empty: it knows none.
std::string postponed_part(const Forgone& forgone) {
  if (forgone.share == 0) return {};
  return fmt::format(
      " A plan that is {:.0f} % better waits until {} at the latest, because nodes are expected to change again soon: "
      "{}.",
      forgone.share * 100, to_rfc3339(forgone.change_at), forgone.plan);
}

// Returns the problem that a training worker reports, usually that it cannot write a checkpoint; empty: no problem.
std::string problem_of_workers(const Observation& observation) {
  for (const auto& [uid, agent] : observation.agents) {
    if (!agent.answers()) continue;
    for (const WorkerReport& worker : agent.report.value().workers) {
      if (worker.phase == WorkerPhase::kTraining && !worker.message.empty()) return worker.message;
    }
  }
  return {};
}

Condition degraded(const Observation& observation, const GenerationRecord& record, bool trains_newest) {
  if (!record.last_failure.empty() && !trains_newest) {
    return yes(Reason::kTrainerFailed, fmt::format("Restart {}: {}", record.restarts, record.last_failure));
  }
  if (const auto at_risk = state_at_risk(observation, record)) return yes(Reason::kStateAtRisk, *at_risk);
  if (const std::string problem = problem_of_workers(observation); !problem.empty()) {
    return yes(Reason::kWorkerReportsProblem, fmt::format("A worker reports: {}", problem));
  }
  if (const std::string slow = slow_gpus_text(observation, record); !slow.empty()) {
    return yes(Reason::kStraggler, slow + ".");
  }
  const int gpus = gpu_count(record.plan);
  const bool was_planned = is_voluntary(record.reason) || record.reason == Reason::kResumed;
  if (!was_planned && gpus < record.from_gpus) {
    return yes(record.reason,
               fmt::format("Trains on {} after {}: {}.", counted(gpus, "GPU"), record.from_gpus, record.message));
  }
  return no(Reason::kAsPlanned, "Nothing is missing.");
}

// Returns a sentence about the first pod that the generation waits for; empty: all agents answer.
std::string first_missing(const Observation& observation, const GenerationRecord& record) {
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(observation, slot.pod);
    const Rival* holder = pod == nullptr ? Competition(observation).find_holder(slot) : nullptr;
    if (holder != nullptr) {
      return fmt::format("Pod {} waits until job {} (priority {}) has released its GPUs on node {}.", slot.pod,
                         to_string(holder->rank.key), holder->rank.priority, slot.node);
    }
    if (pod == nullptr || !pod->is_ours) return fmt::format("Pod {} does not exist yet.", slot.pod);
    if (pod->is_deleting || pod->has_ended()) return fmt::format("Pod {} has ended and will be replaced.", slot.pod);
    if (!pod->waiting.empty()) return fmt::format("Pod {}: {}", slot.pod, pod->waiting);
    const AgentView* agent = find_agent(observation, *pod);
    if (agent == nullptr || !agent->answers()) return fmt::format("The agent of pod {} does not answer.", slot.pod);
  }
  return {};
}

// Returns sentences about the first agent with which there is no connection by TLS; empty: there is no such agent.
std::string first_untrusted(const Observation& observation, const GenerationRecord& record) {
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(observation, slot.pod);
    const AgentView* agent = pod == nullptr || pod->has_ended() ? nullptr : find_agent(observation, *pod);
    if (agent == nullptr || agent->tls_fault.empty()) continue;
    return fmt::format(
        "Pod {} runs, but its agent and the operator do not accept each other: {}. New certificates reach a pod within "
        "some minutes. If this lasts, compare the clocks of the nodes, look for \"credentials\" in the pod's log, and "
        "delete the pod: it then starts with new ones.",
        slot.pod, agent->tls_fault);
  }
  return {};
}

// Returns a sentence about the first agent of the generation that refuses what the operator sends; empty: none does.
std::string first_refusal(const Observation& observation, const GenerationRecord& record) {
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(observation, slot.pod);
    const AgentView* agent = pod == nullptr ? nullptr : find_agent(observation, *pod);
    if (agent == nullptr || agent->refusal.empty()) continue;
    return fmt::format(
        "The agent of pod {} refuses what the operator sends: {}. Do the images of the operator and of "
        "the pod have the same version?",
        slot.pod, agent->refusal);
  }
  return {};
}

// Returns sentences about the new nodes that pods of the generation wait for; empty: they wait for none.
std::string missing_nodes(const Observation& observation, const GenerationRecord& record) {
  if (record.is_committed()) return {};
  std::string text;
  for (const NodeWait& wait : find_node_waits(observation, record.placement)) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", text_of(observation, wait));
  }
  return text;
}

Condition pods_ready(const Observation& observation, const GenerationRecord& record) {
  if (const PodRefusal* refusal = find_refusal(observation, record.placement)) {
    return no(Reason::kPodRefused, refusal->message);
  }
  if (const std::string nodes = missing_nodes(observation, record); !nodes.empty()) {
    return no(Reason::kWaitingForNodes, nodes);
  }
  if (const std::string untrusted = first_untrusted(observation, record); !untrusted.empty())
    return no(Reason::kAgentUntrusted, untrusted);
  const std::string missing = first_missing(observation, record);
  if (const std::string refusal = first_refusal(observation, record); missing.empty() && !refusal.empty()) {
    return no(Reason::kAgentRefuses, refusal);
  }
  return missing.empty() ? yes(Reason::kAllPodsAnswer, "The agents of all pods answer.")
                         : no(Reason::kPodsPending, missing);
}

Conditions without_plan() {
  const Condition not_planned = no(Reason::kNotPlanned, "There is no plan yet; see the condition Planned.");
  return {{kPlanned, planning()},
          {kPodsReady, not_planned},
          {kRunning, not_planned},
          {kRescaling, not_planned},
          {kDegraded, not_planned}};
}

Conditions of_released_job(const Observation& observation, const GenerationRecord& record) {
  const std::string message = release_message(observation, record);
  const Condition released = no(Reason::kGpusReleased, message);
  return {{kPlanned, no(record.reason, message)},
          {kPodsReady, released},
          {kRunning, released},
          {kRescaling, is_saving(observation, record) ? yes(record.reason, message) : released},
          {kDegraded, released}};
}

Condition running(const Observation& observation, const GenerationRecord& record, bool trains_newest) {
  if (trains_newest || any_worker_trains(observation)) return yes(Reason::kTraining, "The workers train.");
  if (record.last_failure.empty()) return no(Reason::kStarting, "The workers do not train yet.");
  return no(Reason::kTrainerFailed, record.last_failure);
}

Condition rescaling(const GenerationRecord& record, bool trains_newest) {
  const bool is_change = record.from_generation > 0;
  if (!is_change || trains_newest) return no(Reason::kSettled, "The newest generation is the one that trains.");
  return yes(record.reason,
             fmt::format("From generation {} to {}: {}", record.from_generation, record.generation, record.message));
}

Conditions of_planned_job(const Observation& observation, const GenerationRecord& record) {
  const bool trains_newest = trains(observation, record);
  return {{kPlanned, planned(observation, record)},
          {kPodsReady, pods_ready(observation, record)},
          {kRunning, running(observation, record, trains_newest)},
          {kRescaling, rescaling(record, trains_newest)},
          {kDegraded, degraded(observation, record, trains_newest)}};
}

Conditions of_generation(const Observation& observation, const std::optional<GenerationRecord>& record) {
  if (!record) return without_plan();
  return record->releases_gpus ? of_released_job(observation, *record) : of_planned_job(observation, *record);
}

}  // namespace

Condition planned(const Observation& observation, const GenerationRecord& record) {
  return yes(Reason::kPlanned,
             fmt::format("Generation {} uses {} of {} in {}{}: {}{}{}", record.generation,
                         counted(gpu_count(record.plan), "GPU"), counted(node_pools(record.plan), "pool"),
                         counted(std::ssize(record.placement.slots), "pod"), slow_part(record.plan), record.message,
                         postponed_part(record.forgone), plan_map_problem(observation)));
}

Conditions conditions_of(const Observation& observation, const std::optional<GenerationRecord>& record) {
  Conditions conditions = of_generation(observation, record);
  conditions[kSuspended] = no(Reason::kNotSuspended, "spec.suspend is false.");
  conditions[kComplete] = no(Reason::kStepsRemain, "Some steps are not done yet.");
  conditions[kFailed] = no(Reason::kNotFailed, "The job has not failed.");
  return conditions;
}

}  // namespace sailor
