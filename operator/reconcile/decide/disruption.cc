#include "operator/reconcile/decide/disruption.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/protocol/timeouts.h"
#include "operator/model/names.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/broken_paths.h"
#include "operator/reconcile/decide/new_nodes.h"
#include "operator/reconcile/decide/trainer_failures.h"

namespace sailor {
namespace {

// A pod counts as lost after this number of unanswered polls of its agent:
constexpr int kPollsIfPeersAgree = 2;   // if a worker is broken, or a peer cannot reach the pod either
constexpr int kPollsIfNodeUnready = 3;  // if the node is not ready
constexpr int kPollsIfOthersWait = 5;   // if other workers wait for this pod to regroup
static_assert(std::max({kPollsIfPeersAgree, kPollsIfNodeUnready, kPollsIfOthersWait}) <= kHighestPollCount);

// If all pods answer, a worker may be broken for this long before its pods form a new generation.
constexpr auto kRegroupAfter = std::chrono::seconds(2);

// Others may prepare an urgent generation for this long before a pod that leaves it is watched. A pod that has left
// ends at once, often before the operator has heard that it has, or that the others train.
constexpr auto kRendezvousLimit = std::chrono::seconds(2);

enum class Quarantine {
  kNone,
  kUntilHeartbeat,  // the node is not used before it shows a newer heartbeat
  kForStartLimit,   // the node is not used for OperatorSettings::start_limit, although it seems healthy
};

// A problem of one pod.
struct Finding {
  Disruption::Kind kind = Disruption::Kind::kLost;
  Reason reason = Reason::kNodeLost;
  std::string message;
  Quarantine quarantine = Quarantine::kNone;  // the quarantine of the pod's node
};

bool any_worker_is_broken(const Observation& observation, std::int64_t generation) {
  return std::ranges::any_of(observation.agents,
                             [&](const auto& agent) { return is_broken(agent.second, generation); });
}

// Returns whether a worker of the agent still trains an older generation because it has not switched to this one yet.
bool trains_older(const AgentView& agent, std::int64_t generation) {
  return agent.report && std::ranges::any_of(agent.report->workers, [&](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kTraining && worker.generation < generation;
         });
}

// Returns whether a worker of another pod than this member does. The newest report of a pod that no longer answers is
// old, so it does not show that somebody waits for this pod.
bool another_trains_older(const Observation& observation, std::int64_t generation, const Member& member) {
  return std::ranges::any_of(observation.agents, [&](const auto& agent) {
    return agent.first != member.pod_uid && trains_older(agent.second, generation);
  });
}

bool all_finished(const PodView& pod) {
  return pod.termination_report && !pod.termination_report->workers.empty() &&
         std::ranges::all_of(pod.termination_report->workers, [](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kFinished || worker.phase == WorkerPhase::kReleased;
         });
}

// Returns the problem of the node that a pod was placed on. A node that seems to be gone is not a problem of a pod that
// answers: the node has lost its accelerator label, or its object was deleted.
std::optional<Finding> node_problem(const Observation& observation, const std::string& name, const std::string& uid,
                                    const AgentView* agent) {
  const NodeView* node = observation.cluster->find_node(name);
  const bool seems_gone = node == nullptr || (!uid.empty() && node->uid != uid);
  if (seems_gone && agent != nullptr && agent->answers()) return std::nullopt;
  if (node == nullptr) return Finding{Disruption::Kind::kLost, Reason::kNodeLost, fmt::format("node {} is gone", name)};
  if (!uid.empty() && node->uid != uid) {
    return Finding{Disruption::Kind::kLost, Reason::kNodeLost,
                   fmt::format("node {} was replaced by another of its name", name)};
  }
  if (node->is_terminating) {
    return Finding{Disruption::Kind::kTerminating, Reason::kNodePreempted,
                   fmt::format("node {} is about to be terminated", name)};
  }
  return std::nullopt;
}

Finding pod_lost(const Observation& observation, const Member& member, std::string_view how) {
  const auto node = node_problem(observation, member.node, member.node_uid, nullptr);
  const Reason reason = node ? node->reason : Reason::kPodLost;
  return {Disruption::Kind::kLost, reason, node ? node->message : fmt::format("pod {} {}", member.address.name, how)};
}

// Returns since when a worker of another pod than this member prepares the generation and waits for its peers. No
// worker is broken then, but the job does not progress either.
std::optional<Time> others_wait_since(const Observation& observation, std::int64_t generation, const Member& member) {
  std::optional<Time> first;
  for (const auto& [uid, agent] : observation.agents) {
    const bool waits = uid != member.pod_uid && agent.preparing_since && agent.report &&
                       std::ranges::any_of(agent.report->workers, [&](const WorkerReport& worker) {
                         return worker.phase == WorkerPhase::kPreparing && worker.generation == generation;
                       });
    if (waits) first = std::min(first.value_or(*agent.preparing_since), *agent.preparing_since);
  }
  return first;
}

// Returns whether the pod answers neither the operator nor a peer that answers the operator. One of them alone proves
// nothing, because its own path to the pod may be broken.
bool is_missed_by_a_peer(const Observation& observation, const Generation& generation, const Member& member) {
  const AgentView* agent = find_agent(observation, member.pod_uid);
  if (agent == nullptr || agent->unanswered_polls < kPollsIfPeersAgree) return false;
  return std::ranges::any_of(generation.members, [&](const Member& peer) {
    const AgentView* view = find_answering(observation, peer);
    return view != nullptr && cannot_reach(*view, member);
  });
}

// Returns whether the generation has stopped, or is about to be replaced. Every other unresponsive pod is then left out
// of the next generation too.
bool is_over(const Observation& observation, const Generation& generation) {
  return any_worker_is_broken(observation, generation.generation) ||
         std::ranges::any_of(generation.members, [&](const Member& member) {
           return is_missed_by_a_peer(observation, generation, member);
         });
}

std::optional<Finding> find_unresponsive(const Observation& observation, const Generation& generation,
                                         const Member& member, const AgentView* agent) {
  if (agent == nullptr || agent->answers()) return std::nullopt;
  const NodeView* node = observation.cluster->find_node(member.node);
  const bool is_unready = node != nullptr && !node->is_ready;
  const bool is_given_up = agent->unanswered_polls >= kPollsIfPeersAgree && is_over(observation, generation);
  const bool is_waited_for = others_wait_since(observation, generation.generation, member) ||
                             another_trains_older(observation, generation.generation, member);
  const bool holds_others_up = agent->unanswered_polls >= kPollsIfOthersWait && is_waited_for;
  if (!is_given_up && !holds_others_up && !(is_unready && agent->unanswered_polls >= kPollsIfNodeUnready))
    return std::nullopt;
  return Finding{Disruption::Kind::kLost, Reason::kNodeLost,
                 fmt::format("pod {} on node {} does not answer", member.address.name, member.node),
                 Quarantine::kUntilHeartbeat};
}

// Finds a pod that was notified of the generation long ago but has not switched to it, while other pods wait for it and
// train on. The limit includes the longest time for which joining workers may receive state in advance.
std::optional<Finding> find_late(const Observation& observation, const Generation& generation, const Member& member,
                                 const AgentView* agent) {
  const std::chrono::seconds limit = observation.settings.start_limit + kStateStreamingLimit;
  const bool is_late = observation.now - generation.committed_at > limit;
  const bool is_waited_for = another_trains_older(observation, generation.generation, member);
  if (!is_late || !is_waited_for || agent == nullptr || trains_older(*agent, generation.generation))
    return std::nullopt;
  return Finding{Disruption::Kind::kLost, Reason::kPodNotStarted,
                 fmt::format("pod {} did not take part within {} s", member.address.name, limit.count()),
                 Quarantine::kForStartLimit};
}

bool has_left(const AgentView& agent) {
  return agent.report && std::ranges::all_of(agent.report->workers, [](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kReleased || worker.phase == WorkerPhase::kFinished;
         });
}

// Returns when a member that leaves an urgent generation begins to be watched, if others still wait then.
std::optional<Time> watched_from(const Observation& observation, const Generation& generation, const Member& member) {
  if (generation.releases_gpus || !leaves_urgently(generation, member)) return std::nullopt;
  const auto since = others_wait_since(observation, generation.generation, member);
  return since ? std::optional(*since + kRendezvousLimit) : std::nullopt;
}

// Returns whether a problem of the member counts. A member that leaves counts while others wait for it: while it may
// still send state to joining workers, and at the rendezvous of an urgent change. At other times its loss matters only
// if it breaks another worker, which is noticed there. Once all others train, its pod is removed, although its newest
// report may still be one from before.
bool is_watched(const Observation& observation, const Generation& generation, const Member& member) {
  if (!member.leaves || generation.releases_gpus) return true;
  const AgentView* agent = find_agent(observation, member.pod_uid);
  if (is_voluntary(generation.reason)) {
    return agent != nullptr && trains_older(*agent, generation.generation) && !trains(observation, generation);
  }
  const auto from = watched_from(observation, generation, member);
  return from && observation.now >= *from && (agent == nullptr || !has_left(*agent));
}

// Returns whether the problem is why the generation was made. A pod that is about to be terminated finishes what it has
// begun: it saves its state, or leaves in an urgent change.
bool is_expected(const Finding& finding, const Generation& generation, const Member& member) {
  const bool is_leaving = generation.releases_gpus || leaves_urgently(generation, member);
  return is_leaving && finding.kind == Disruption::Kind::kTerminating;
}

// Returns the problem of a pod that takes part in the generation.
std::optional<Finding> member_problem(const Observation& observation, const Generation& generation,
                                      const Member& member) {
  const PodView* pod = find_pod(observation, member.address.name);
  if (pod == nullptr || pod->uid != member.pod_uid) return pod_lost(observation, member, "is gone");
  if (all_finished(*pod)) return std::nullopt;
  if (is_fault_of_machine(observation.record.value(), *pod)) {
    return Finding{Disruption::Kind::kLost, Reason::kWorkerUnresponsive,
                   fmt::format("a worker of pod {} on node {} did not answer", pod->name, member.node)};
  }
  if (pod->has_ended()) return pod_lost(observation, member, "has ended");
  const AgentView* agent = find_agent(observation, *pod);
  if (auto finding = find_unresponsive(observation, generation, member, agent)) return finding;
  if (auto finding = find_late(observation, generation, member, agent)) return finding;
  if (auto finding = node_problem(observation, member.node, member.node_uid, agent)) return finding;
  const bool is_told_to_stop = pod->is_deleting || (agent != nullptr && agent->report && agent->report->is_terminating);
  if (!is_told_to_stop) return std::nullopt;
  return Finding{Disruption::Kind::kTerminating, Reason::kNodeTerminating,
                 fmt::format("pod {} was told to stop", pod->name)};
}

constexpr std::chrono::milliseconds kPastLimit{1};

// Returns the time since which the pod of a slot could start. The pods that it replaces have a grace period to end, and
// a job that has failed waits before it makes pods again.
Time free_since(const GenerationRecord& record, const PodView* pod) {
  const Time may_begin = std::max(record.not_before, record.decided_at);
  if (pod != nullptr) return std::max({pod->created, pod->bound_at.value_or(Time()), may_begin});
  const bool replaces_pods = record.min_pod_generation == record.generation;
  return replaces_pods ? std::max(may_begin, record.decided_at + kTerminationGrace) : may_begin;
}

// Returns when the pod of a slot has had enough time to start; nothing: it has started, or cannot start yet. A node is
// not to blame for a pod that the API server refuses.
std::optional<Time> start_ends_at(const Observation& observation, const Slot& slot) {
  const GenerationRecord& record = observation.record.value();
  const PodView* pod = find_pod(observation, slot.pod);
  const AgentView* agent = pod == nullptr ? nullptr : find_agent(observation, *pod);
  const bool is_up = pod != nullptr && (pod->has_ended() || (agent != nullptr && is_ready(*agent)));
  const bool is_refused = pod == nullptr && find_refusal(observation, record.placement) != nullptr;
  if (is_up || is_refused || is_occupied(observation, record, slot)) return std::nullopt;
  return free_since(record, pod) + observation.settings.start_limit;
}

// Returns the problem of a pod for which no node is expected any more.
std::optional<Finding> find_no_node(const Observation& observation, const Slot& slot, Time gives_up_at) {
  if (observation.now < gives_up_at) return std::nullopt;
  return Finding{Disruption::Kind::kLost, Reason::kPodNotStarted,
                 fmt::format("pod {} got no node of pool {}", slot.pod, to_string(slot.pool)), Quarantine::kNone};
}

// Returns the problem of a pod that is being prepared.
std::optional<Finding> slot_problem(const Observation& observation, const Slot& slot,
                                    const std::set<PoolKey>& without_room) {
  if (const auto end = gives_up_at(observation, slot, without_room)) return find_no_node(observation, slot, *end);
  const PodView* pod = find_pod(observation, slot.pod);
  const AgentView* agent = pod == nullptr ? nullptr : find_agent(observation, *pod);
  if (const auto end = start_ends_at(observation, slot); end && observation.now > *end) {
    const std::string why = pod == nullptr || pod->waiting.empty() ? "" : ": " + pod->waiting;
    return Finding{
        Disruption::Kind::kLost, Reason::kPodNotStarted,
        fmt::format("pod {} did not start within {} s{}", slot.pod, observation.settings.start_limit.count(), why),
        Quarantine::kForStartLimit};
  }
  const std::string node = pod != nullptr && !pod->node.empty() ? pod->node : slot.node;
  return node.empty() ? std::nullopt : node_problem(observation, node, slot.node_uid, agent);
}

std::string node_uid(const Observation& observation, const std::string& name) {
  const NodeView* node = observation.cluster->find_node(name);
  return node == nullptr ? "" : node->uid;
}

// Combines the problems of several pods into one disruption.
class Findings {
 public:
  explicit Findings(const Observation& observation) : observation_(observation) {}

  void add(const std::string& pod, const std::string& node, const Finding& finding) {
    const bool is_gravest = !disruption_ || (disruption_->kind == Disruption::Kind::kTerminating &&
                                             finding.kind == Disruption::Kind::kLost);
    if (!disruption_) disruption_.emplace();
    if (is_gravest) {
      disruption_->kind = finding.kind;
      disruption_->reason = finding.reason;
      disruption_->message = finding.message;
    }
    disruption_->pods.insert(pod);
    const std::string uid = node_uid(observation_, node);
    if (finding.quarantine == Quarantine::kUntilHeartbeat) {
      disruption_->nodes_to_quarantine.push_back({uid, observation_.now, Time()});
    } else if (finding.quarantine == Quarantine::kForStartLimit) {
      const Time until = observation_.now + observation_.settings.start_limit;
      disruption_->nodes_to_quarantine.push_back({uid, Time(), until});
    }
  }
  [[nodiscard]] const std::optional<Disruption>& disruption() const { return disruption_; }

 private:
  const Observation& observation_;
  std::optional<Disruption> disruption_;
};

Disruption broken_paths(const std::vector<UnreachablePod>& unreachable) {
  Disruption disruption{Disruption::Kind::kLost, Reason::kPathLost, unreachable.front().message};
  for (const UnreachablePod& pod : unreachable) {
    disruption.pods.insert(pod.pod);
    disruption.unreachable_pods.insert(pod.uid);
    disruption.nodes_to_quarantine.push_back(pod.node);
  }
  return disruption;
}

// Finds a worker that has been broken for a while although all pods answer. If a path is broken, some pods must be left
// out, because the same pods could not connect again. Otherwise the same pods can try again.
std::optional<Disruption> broken_connection(const Observation& observation, const Generation& generation) {
  for (const auto& [uid, agent] : observation.agents) {
    const bool is_late = agent.broken_since && observation.now - *agent.broken_since >= kRegroupAfter;
    if (!is_late || !agent.report || !is_broken(agent, generation.generation)) continue;
    const auto unreachable = pods_to_leave_out(observation, generation);
    if (!unreachable.empty()) return broken_paths(unreachable);
    return Disruption{Disruption::Kind::kConnectionLost, Reason::kPeerLost,
                      fmt::format("agent {} lost a connection although all pods answer", agent.report->agent)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Disruption> find_startup_disruption(const Observation& observation) {
  Findings findings(observation);
  const Placement& placement = observation.record.value().placement;
  const std::set<PoolKey> without_room = pools_without_room(observation, placement);
  for (const Slot& slot : placement.slots) {
    if (const auto finding = slot_problem(observation, slot, without_room)) findings.add(slot.pod, slot.node, *finding);
  }
  return findings.disruption();
}

PolicyResult requeue_at_start_limit(const Observation& observation) {
  PolicyResult result;
  if (!observation.record || observation.record->is_committed()) return result;
  for (const Slot& slot : observation.record->placement.slots) {
    const auto end = waits_for_new_node(observation, slot) ? std::nullopt : start_ends_at(observation, slot);
    if (end && *end >= observation.now) requeue(result, time_until(observation.now, *end + kPastLimit));
  }
  return result;
}

std::optional<Disruption> find_disruption(const Observation& observation, const Generation& generation) {
  if (!generation.is_committed()) return find_startup_disruption(observation);
  Findings findings(observation);
  for (const Member& member : generation.members) {
    if (!is_watched(observation, generation, member)) continue;
    const auto finding = member_problem(observation, generation, member);
    if (finding && !is_expected(*finding, generation, member)) findings.add(member.address.name, member.node, *finding);
  }
  return findings.disruption() ? findings.disruption() : broken_connection(observation, generation);
}

PolicyResult requeue_at_rendezvous_limit(const Observation& observation) {
  PolicyResult result;
  const auto& record = observation.record;
  if (!record || !record->is_committed()) return result;
  for (const Member& member : record->members) {
    const auto from = watched_from(observation, *record, member);
    if (from && *from > observation.now) requeue(result, time_until(observation.now, *from));
  }
  return result;
}

Time first_end(const Observation& observation, const Generation& generation, Time noticed) {
  std::optional<Time> first;
  for (const Member& member : generation.members) {
    const PodView* pod = find_pod(observation, member.address.name);
    if (pod == nullptr || pod->uid != member.pod_uid || pod->has_ended()) continue;
    const NodeView* node = observation.cluster->find_node(member.node);
    const AgentView* agent = find_agent(observation, *pod);
    const bool is_lost = node == nullptr && (agent == nullptr || !agent->answers());
    const bool loses_node = is_lost || (node != nullptr && node->is_terminating);
    if (!loses_node && !pod->killed_at) continue;
    const Time since = node == nullptr ? noticed : node->terminating_since;
    const Time end = loses_node ? since + kTerminationNotice : *pod->killed_at;
    first = std::min(first.value_or(end), end);
  }
  return first.value_or(noticed + kTerminationNotice);
}

Time first_sign(const Observation& observation, const Generation& generation) {
  Time first = observation.now;
  for (const auto& [uid, agent] : observation.agents) {
    if (agent.broken_since && is_broken(agent, generation.generation)) first = std::min(first, *agent.broken_since);
    if (agent.unanswered_since && member_of(generation, uid) != nullptr)
      first = std::min(first, *agent.unanswered_since);
  }
  return first;
}

}  // namespace sailor
