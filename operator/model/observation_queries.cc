#include "operator/model/observation_queries.h"

#include <algorithm>
#include <tuple>

#include "core/model/accelerator.h"

namespace sailor {
namespace {

// Returns the newest generation that the status has seen train after a change; 0: none.
std::int64_t last_trained(const JobStatus& status) {
  std::int64_t last = 0;
  for (const RescaleStatus& rescale : status.rescales) {
    if (rescale.source) last = std::max(last, rescale.to_generation);
  }
  return last;
}

void offer(std::optional<JobProgress>& best, const std::optional<AgentReport>& report) {
  if (!report || !report->progress) return;
  const auto rank = [](const JobProgress& progress) {
    return std::tuple(progress.generation, progress.step, progress.last_checkpoint_step);
  };
  if (!best || rank(*report->progress) > rank(*best)) best = report->progress;
}

// Returns the pool that a pod runs in. The labels of its node may have changed since the pod was made.
const PoolKey& present_pool(const Observation& observation, const PodView& pod) {
  const NodeView* node = observation.cluster->find_node(pod.node);
  return node == nullptr ? pod.pool : node->pool;
}

bool costs_money(const PodView& pod) { return pod.is_ours && pod.phase == PodPhase::kRunning; }

// Returns the pool of a pod. Null: the pool is gone, or has no price any more.
const PoolDeclaration* find_pool(const Observation& observation, const PodView& pod) {
  const auto pool = observation.cluster->pools.find(present_pool(observation, pod));
  return pool == observation.cluster->pools.end() ? nullptr : &pool->second;
}

std::optional<DollarsPerHour> price_on_demand(const ClusterView& cluster, PoolKey key) {
  key.provisioning = Provisioning::kOnDemand;
  const auto pool = cluster.pools.find(key);
  if (pool != cluster.pools.end()) return pool->second.price_per_gpu;
  return cluster.is_on_gke ? list_price(key.accelerator, key.provisioning) : std::nullopt;
}

// Returns what a GPU of the plan in use costs on average, by the prices that it was made with.
DollarsPerHour planned_price_per_gpu(const Observation& observation) {
  if (!observation.record) return {};
  const Generation& generation = observation.record->in_use();
  const int gpus = gpu_count(generation.plan);
  const Seconds iteration(generation.summary.iteration_seconds);
  if (gpus == 0 || iteration <= Seconds(0)) return {};
  return Dollars(generation.summary.gpu_cost_per_iteration) / iteration / gpus;
}

double traffic_dollars_per_hour(const Observation& observation) {
  if (!observation.record || !trains(observation, observation.record->in_use())) return 0;
  const auto progress = newest_progress(observation);
  if (!progress || progress->step_seconds <= 0) return 0;
  const Dollars of_step(observation.record->in_use().summary.traffic_cost_per_iteration);
  return (of_step / Seconds(progress->step_seconds)).value();
}

}  // namespace

const Member* member_of(const Generation& generation, const std::string& pod_uid) {
  const auto found = std::ranges::find(generation.members, pod_uid, &Member::pod_uid);
  return found == generation.members.end() ? nullptr : &*found;
}

bool is_ready(const AgentView& agent) {
  return agent.answers() && std::ranges::none_of(agent.report.value().workers, [](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kStarting || worker.phase == WorkerPhase::kFailed;
         });
}

bool holds_state(const AgentView& agent) {
  return agent.report && std::ranges::any_of(agent.report->workers, [](const WorkerReport& worker) {
           return worker.generation > 0 && worker.phase != WorkerPhase::kReleased;
         });
}

bool is_broken(const AgentView& agent, std::int64_t generation) {
  return agent.report && std::ranges::any_of(agent.report->workers, [&](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kBroken && worker.generation == generation;
         });
}

const PodView* find_pod(const Observation& observation, const std::string& name) {
  const auto found = std::ranges::find(observation.pods, name, &PodView::name);
  return found == observation.pods.end() ? nullptr : &*found;
}

const AgentView* find_agent(const Observation& observation, const std::string& pod_uid) {
  const auto found = observation.agents.find(pod_uid);
  return found == observation.agents.end() ? nullptr : &found->second;
}

const AgentView* find_agent(const Observation& observation, const PodView& pod) {
  return find_agent(observation, pod.uid);
}

const AgentView* find_answering(const Observation& observation, const Member& member) {
  const AgentView* agent = find_agent(observation, member.pod_uid);
  return agent != nullptr && agent->answers() ? agent : nullptr;
}

bool cannot_reach(const AgentView& agent, const Member& peer) {
  const auto& peers = agent.report.value().unresponsive_peers;
  return std::ranges::find(peers, peer.address.name) != peers.end();
}

bool is_stale(const GenerationRecord& record, const PodView& pod) {
  return pod.created_for_generation < record.min_pod_generation;
}

bool is_occupied(const Observation& observation, const GenerationRecord& record, const Slot& slot) {
  return std::ranges::any_of(observation.pods, [&](const PodView& pod) {
    return pod.is_ours && !pod.has_ended() && is_stale(record, pod) && pod.node == slot.node;
  });
}

const PodRefusal* find_refusal(const Observation& observation, const Placement& placement) {
  const auto& refusal = observation.refusal;
  if (!refusal || find_pod(observation, refusal->pod) != nullptr) return nullptr;
  // An older refusal belongs to a pod that was given up and is about to be tried again.
  if (observation.now > refusal->retry_at + std::chrono::minutes(1)) return nullptr;
  const bool is_in_placement = std::ranges::find(placement.slots, refusal->pod, &Slot::pod) != placement.slots.end();
  return is_in_placement ? &*refusal : nullptr;
}

std::optional<JobProgress> newest_progress(const Observation& observation) {
  std::optional<JobProgress> best;
  for (const auto& [uid, agent] : observation.agents) offer(best, agent.report);
  for (const PodView& pod : observation.pods) {
    if (pod.is_ours) offer(best, pod.termination_report);
  }
  // A released pod still reports the generation that it trained in, and for a moment no other pod reports any.
  if (best && best->generation < last_trained(observation.job.status)) best.reset();
  return best;
}

double dollars_per_hour(const Observation& observation) {
  return gpu_dollars_per_hour(observation) + traffic_dollars_per_hour(observation);
}

// Somebody may delete the GpuPool of a job that trains. Its GPUs cost money all the same.
double gpu_dollars_per_hour(const Observation& observation) {
  DollarsPerHour sum;
  for (const PodView& pod : observation.pods) {
    if (!costs_money(pod)) continue;
    const PoolDeclaration* pool = find_pool(observation, pod);
    sum += (pool != nullptr ? pool->price_per_gpu : planned_price_per_gpu(observation)) * pod.gpus;
  }
  return sum.value();
}

double saved_dollars_per_hour(const Observation& observation) {
  DollarsPerHour sum;
  for (const PodView& pod : observation.pods) {
    if (!costs_money(pod)) continue;
    const PoolDeclaration* pool = find_pool(observation, pod);
    if (pool == nullptr || pool->key.provisioning != Provisioning::kSpot) continue;
    if (const auto price = price_on_demand(*observation.cluster, pool->key))
      sum += (*price - pool->price_per_gpu) * pod.gpus;
  }
  return sum.value();
}

bool any_worker_trains(const Observation& observation) {
  return std::ranges::any_of(observation.pods, [&](const PodView& pod) {
    const AgentView* agent = find_agent(observation, pod);
    return pod.is_ours && !pod.has_ended() && agent != nullptr && agent->answers() &&
           std::ranges::any_of(agent->report->workers,
                               [](const WorkerReport& worker) { return worker.phase == WorkerPhase::kTraining; });
  });
}

bool trains(const Observation& observation, const Generation& generation) {
  if (!generation.is_committed() || generation.releases_gpus) return false;
  const auto trains_it = [&](const WorkerReport& worker) {
    const bool is_training = worker.phase == WorkerPhase::kTraining || worker.phase == WorkerPhase::kFinished;
    return is_training && worker.generation == generation.generation;
  };
  return std::ranges::all_of(generation.members, [&](const Member& member) {
    if (member.leaves) return true;
    const AgentView* agent = find_agent(observation, member.pod_uid);
    return agent != nullptr && agent->report && std::ranges::any_of(agent->report->workers, trains_it);
  });
}

std::string node_uid_of_pod(const Observation& observation, const std::string& pod) {
  const PodView* view = find_pod(observation, pod);
  const NodeView* node = view == nullptr ? nullptr : observation.cluster->find_node(view->node);
  return node == nullptr ? "" : node->uid;
}

}  // namespace sailor
