#include "operator/reconcile/decide/new_nodes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

// The longest time from one new node of a generation to the next.
constexpr auto kNextNodeLimit = std::chrono::minutes(1);

// An autoscaler that can do nothing for a new pod may still be reading the cluster.
constexpr auto kNotTriggeredLimit = std::chrono::minutes(1);

// Returns the pod of the slot if it waits for a new node.
const PodView* find_waiting_pod(const Observation& observation, const Slot& slot) {
  if (!slot.node.empty()) return nullptr;
  const PodView* pod = find_pod(observation, slot.pod);
  const bool waits = pod != nullptr && pod->is_ours && pod->node.empty() && !pod->is_deleting && !pod->has_ended();
  return waits ? pod : nullptr;
}

Time gives_up_at(const Observation& observation, const PodView& pod, bool has_room) {
  // The API server's clock says when the pod was created, and may be behind the operator's.
  const Time since = std::max(pod.created, observation.record.value().decided_at);
  if (!has_room) return since;
  const Time limit = since + observation.settings.new_node_limit;
  if (!pod.scale_up) return limit;
  switch (pod.scale_up->outcome) {
    case ScaleUp::Outcome::kTriggered:
      return limit;
    case ScaleUp::Outcome::kFailed:
      return since;
    case ScaleUp::Outcome::kNotTriggered:
      return std::min<Time>(limit, since + kNotTriggeredLimit);
  }
  return limit;
}

void add_pod(NodeWait& wait, const Observation& observation, const PodView& pod) {
  const Time over_at = gives_up_at(observation, pod, !wait.is_too_many);
  const bool is_first = wait.pods == 0;
  wait.since = is_first ? pod.created : std::min(wait.since, pod.created);
  if (is_first || over_at < wait.over_at) {
    wait.over_at = over_at;
    wait.pod = pod.name;
    if (pod.scale_up) wait.said = pod.scale_up->message;
  }
  ++wait.pods;
}

std::string pool_text(const Observation& observation, const PoolKey& pool) {
  const auto declared = observation.cluster->pools.find(pool);
  return declared == observation.cluster->pools.end()
             ? to_string(pool)
             : fmt::format("GpuPool {} ({})", declared->second.name, to_string(pool));
}

bool is_noted(const GenerationRecord& record, const PoolKey& pool, Time now) {
  return std::ranges::any_of(record.pool_refusals,
                             [&](const PoolRefusal& refusal) { return refusal.pool == pool && refusal.holds(now); });
}

void note_refusal(PolicyResult& result, GenerationRecord& record, const Observation& observation,
                  const NodeWait& wait) {
  const std::string why = wait.said.empty()
                              ? fmt::format("no node came within {} s", observation.settings.new_node_limit.count())
                              : wait.said;
  PoolRefusal refusal = next_refusal(record.pool_refusals, wait.pool, observation.now, why);
  result.events.push_back(
      {true, Reason::kWaitingForNodes,
       fmt::format("{} gave no node to {}. Sailor plans without new nodes of it until {}. The reason: {}{}",
                   pool_text(observation, wait.pool), wait.pod, to_rfc3339(refusal.until), why,
                   why.ends_with('.') ? "" : ".")});
  std::erase_if(record.pool_refusals, [&](const PoolRefusal& earlier) {
    return earlier.pool == wait.pool || !earlier.is_remembered(observation.now);
  });
  record.pool_refusals.push_back(std::move(refusal));
}

}  // namespace

std::set<PoolKey> pools_without_room(const Observation& observation, const Placement& placement) {
  std::map<PoolKey, std::int64_t> nodes;
  for (const Slot& slot : placement.slots) {
    if (waits_for_new_node(observation, slot)) ++nodes[slot.pool];
  }
  if (nodes.empty()) return {};
  std::set<std::string> own;
  for (const PodView& pod : observation.pods) own.insert(pod.node);
  for (const NodeView& node : observation.cluster->nodes) {
    const bool has_pods = own.contains(node.name) || node.used_by_others(observation.job.uid) > 0;
    if (const auto pool = nodes.find(node.pool); pool != nodes.end() && has_pods && !node.is_terminating)
      ++pool->second;
  }
  std::set<PoolKey> without_room;
  for (const auto& [key, count] : nodes) {
    const auto declared = observation.cluster->pools.find(key);
    const bool has_room =
        declared != observation.cluster->pools.end() && count <= declared->second.max_nodes.value_or(0);
    if (!has_room) without_room.insert(key);
  }
  return without_room;
}

std::vector<NodeWait> find_node_waits(const Observation& observation, const Placement& placement) {
  const std::set<PoolKey> without_room = pools_without_room(observation, placement);
  std::map<PoolKey, NodeWait> waits;
  for (const Slot& slot : placement.slots) {
    const PodView* pod = find_waiting_pod(observation, slot);
    if (pod == nullptr) continue;
    NodeWait& wait = waits[slot.pool];
    wait.pool = slot.pool;
    wait.is_too_many = without_room.contains(slot.pool);
    add_pod(wait, observation, *pod);
  }
  std::vector<NodeWait> list;
  list.reserve(waits.size());
  for (auto& [pool, wait] : waits) list.push_back(std::move(wait));
  return list;
}

std::string text_of(const Observation& observation, const NodeWait& wait) {
  const std::string who = wait.pods == 1 ? fmt::format("Pod {} waits for a new node", wait.pod)
                                         : fmt::format("{} pods wait for new nodes", wait.pods);
  const std::string said = wait.said.empty() ? "" : fmt::format(" The autoscaler says: {}", wait.said);
  const char* too_many = wait.is_too_many ? " The pool may not have so many nodes any more." : "";
  return fmt::format("{} of {} since {}.{}{}", who, pool_text(observation, wait.pool), to_rfc3339(wait.since), said,
                     too_many);
}

bool waits_for_new_node(const Observation& observation, const Slot& slot) {
  return find_waiting_pod(observation, slot) != nullptr;
}

std::optional<Time> gives_up_at(const Observation& observation, const Slot& slot,
                                const std::set<PoolKey>& without_room) {
  const PodView* pod = find_waiting_pod(observation, slot);
  if (pod == nullptr) return std::nullopt;
  return gives_up_at(observation, *pod, !without_room.contains(slot.pool));
}

std::optional<PolicyResult> note_pool_refusals(const Observation& observation) {
  const GenerationRecord& before = observation.record.value();
  if (before.is_committed()) return std::nullopt;
  std::vector<NodeWait> over = find_node_waits(observation, before.placement);
  std::erase_if(over, [&](const NodeWait& wait) {
    // The pool has refused nothing, and may give fewer nodes.
    return wait.is_too_many || observation.now < wait.over_at || is_noted(before, wait.pool, observation.now);
  });
  if (over.empty()) return std::nullopt;
  GenerationRecord record = before;
  PolicyResult result;
  for (const NodeWait& wait : over) note_refusal(result, record, observation, wait);
  write_record(result, std::move(record));
  return result;
}

std::optional<Time> others_are_late_at(const Observation& observation, const GenerationRecord& record) {
  std::optional<Time> newest;
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(observation, slot.pod);
    const bool trains = pod != nullptr && record.running && member_of(*record.running, pod->uid) != nullptr;
    if (pod == nullptr || pod->node.empty() || trains) continue;
    newest = std::max(newest.value_or(Time()), pod->bound_at.value_or(pod->created));
  }
  return newest ? std::optional<Time>(*newest + kNextNodeLimit) : std::nullopt;
}

PolicyResult requeue_for_new_nodes(const Observation& observation) {
  PolicyResult result;
  if (!observation.record) return result;
  const std::vector<NodeWait> waits = find_node_waits(observation, observation.record->placement);
  for (const NodeWait& wait : waits) {
    if (wait.over_at > observation.now) requeue(result, time_until(observation.now, wait.over_at));
  }
  if (!waits.empty()) {
    const auto late_at = others_are_late_at(observation, *observation.record);
    if (late_at && *late_at > observation.now) requeue(result, time_until(observation.now, *late_at));
  }
  for (const auto& [pool, refusal] : observation.cluster->refusals) {
    if (refusal.holds(observation.now)) requeue(result, time_until(observation.now, refusal.until));
  }
  return result;
}

}  // namespace sailor
