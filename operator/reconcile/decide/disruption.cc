#include "operator/reconcile/decide/disruption.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/protocol/timeouts.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/broken_paths.h"
#include "operator/reconcile/decide/trainer_failures.h"

namespace sailor {
namespace {

constexpr int kUnanswered = 2;                           // polls, once a peer is broken or hears nothing either
constexpr int kUnansweredUnready = 3;                    // polls, once the node is not ready
constexpr auto kRegroupAfter = std::chrono::seconds(2);  // all answer, and somebody is broken all the same
constexpr int kUnansweredWaiting = 5;                    // polls, while others wait for this pod to regroup

struct Finding {
  Trouble::Kind kind = Trouble::Kind::kLost;
  std::string reason;
  std::string what;
  bool suspect = false;  // its node is not to be used for now
  bool pauses = false;   // nor for a while, though it seems to be well
};

bool someone_is_broken(const Observation& seen, std::int64_t generation) {
  return std::ranges::any_of(seen.agents, [&](const auto& agent) { return is_broken(agent.second, generation); });
}

// Trains, but in an older generation: it has not come to this one yet, and need not stand still until it does.
bool trains_on(const AgentView& agent, std::int64_t generation) {
  return agent.report && std::ranges::any_of(agent.report->workers, [&](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kTraining && worker.generation < generation;
         });
}

bool someone_trains_on(const Observation& seen, std::int64_t generation) {
  return std::ranges::any_of(seen.agents, [&](const auto& agent) { return trains_on(agent.second, generation); });
}

bool all_finished(const PodView& pod) {
  return pod.last_word && !pod.last_word->workers.empty() &&
         std::ranges::all_of(pod.last_word->workers, [](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kFinished || worker.phase == WorkerPhase::kReleased;
         });
}

// What is the matter with the node that a pod was put on.
std::optional<Finding> node_trouble(const Observation& seen, const std::string& name, const std::string& uid) {
  const NodeView* node = seen.cluster.find_node(name);
  if (node == nullptr) return Finding{Trouble::Kind::kLost, "NodeLost", fmt::format("node {} is gone", name)};
  if (!uid.empty() && node->uid != uid) {
    return Finding{Trouble::Kind::kLost, "NodeLost", fmt::format("node {} was replaced by another of its name", name)};
  }
  if (node->is_terminating) {
    return Finding{Trouble::Kind::kGoing, "NodePreempted", fmt::format("node {} is about to be terminated", name)};
  }
  return std::nullopt;
}

Finding pod_lost(const Observation& seen, const Member& member, std::string_view how) {
  const auto node = node_trouble(seen, member.node, member.node_uid);
  const std::string reason = node ? node->reason : "PodLost";
  return {Trouble::Kind::kLost, reason, node ? node->what : fmt::format("pod {} {}", member.address.name, how)};
}

// Nobody is broken, and yet a step cannot be done: some have come to the generation and wait for the rest.
bool someone_waits(const Observation& seen, std::int64_t generation) {
  return std::ranges::any_of(seen.agents, [&](const auto& agent) {
    return agent.second.report && std::ranges::any_of(agent.second.report->workers, [&](const WorkerReport& worker) {
             return worker.phase == WorkerPhase::kPreparing && worker.generation == generation;
           });
  });
}

// Two have asked in vain: we, and a peer that answers us. One alone may have lost no more than its own way there.
bool is_missed(const Observation& seen, const Generation& generation, const Member& member) {
  const AgentView* agent = find_agent(seen, member.pod_uid);
  if (agent == nullptr || agent->failures < kUnanswered) return false;
  return std::ranges::any_of(generation.members, [&](const Member& peer) {
    const AgentView* view = find_answering(seen, peer);
    return view != nullptr && misses(*view, member);
  });
}

// The generation has stopped, or is given up. Whoever else is silent then is left out of the next one too.
bool is_over(const Observation& seen, const Generation& generation) {
  return someone_is_broken(seen, generation.generation) ||
         std::ranges::any_of(generation.members,
                             [&](const Member& member) { return is_missed(seen, generation, member); });
}

std::optional<Finding> silence(const Observation& seen, const Generation& generation, const Member& member,
                               const AgentView* agent) {
  if (agent == nullptr || agent->answers()) return std::nullopt;
  const NodeView* node = seen.cluster.find_node(member.node);
  const bool is_unready = node != nullptr && !node->is_ready;
  const bool is_silent = agent->failures >= kUnanswered && is_over(seen, generation);
  const bool is_waited_for =
      someone_waits(seen, generation.generation) || someone_trains_on(seen, generation.generation);
  const bool holds_others_up = agent->failures >= kUnansweredWaiting && is_waited_for;
  if (!is_silent && !holds_others_up && !(is_unready && agent->failures >= kUnansweredUnready)) return std::nullopt;
  return Finding{Trouble::Kind::kLost, "NodeLost",
                 fmt::format("pod {} on node {} gives no answer", member.address.name, member.node), true};
}

// A pod that was told of the generation, and still has not come to it, while others wait for it and train on. It may
// have been following their steps for as long as they let it.
std::optional<Finding> lateness(const Observation& seen, const Generation& generation, const Member& member,
                                const AgentView* agent) {
  const std::chrono::seconds limit = seen.settings.start_limit + kStateStreamingLimit;
  const bool is_late = seen.now - generation.sealed > limit;
  const bool is_waited_for = someone_trains_on(seen, generation.generation);
  if (!is_late || !is_waited_for || agent == nullptr || trains_on(*agent, generation.generation)) return std::nullopt;
  return Finding{Trouble::Kind::kLost, "PodNotStarted",
                 fmt::format("pod {} did not take part within {} s", member.address.name, limit.count()), true, true};
}

// Who leaves may still feed those who come, and they are waited for. Otherwise, if its going hurts, somebody is broken.
bool is_watched(const Observation& seen, const Generation& generation, const Member& member) {
  if (!member.leaves || generation.parks) return true;
  const AgentView* agent = find_agent(seen, member.pod_uid);
  return is_voluntary(generation.reason) && agent != nullptr && trains_on(*agent, generation.generation);
}

// Of a pod that takes part in the running generation.
std::optional<Finding> member_trouble(const Observation& seen, const Generation& generation, const Member& member) {
  const PodView* pod = find_pod(seen, member.address.name);
  if (pod == nullptr || pod->uid != member.pod_uid) return pod_lost(seen, member, "is gone");
  if (all_finished(*pod)) return std::nullopt;
  if (is_machines_fault(*seen.record, *pod)) {
    return Finding{Trouble::Kind::kLost, "WorkerSilent",
                   fmt::format("a worker of pod {} on node {} gave no answer", pod->name, member.node)};
  }
  if (pod->has_ended()) return pod_lost(seen, member, "has ended");
  const AgentView* agent = find_agent(seen, *pod);
  if (auto finding = silence(seen, generation, member, agent)) return finding;
  if (auto finding = lateness(seen, generation, member, agent)) return finding;
  if (auto finding = node_trouble(seen, member.node, member.node_uid)) return finding;
  const bool told_to_stop = pod->is_deleting || (agent != nullptr && agent->report && agent->report->is_terminating);
  if (!told_to_stop) return std::nullopt;
  return Finding{Trouble::Kind::kGoing, "NodeTerminating", fmt::format("pod {} was told to stop", pod->name)};
}

// From when on a slot's pod could start: those that it replaces have their grace to end in first.
Time free_since(const Observation& seen, const PodView* pod) {
  const GenerationRecord& record = *seen.record;
  if (pod != nullptr) return std::max(pod->created, record.decided);
  return record.fresh_from == record.generation ? record.decided + kTerminationGrace : record.decided;
}

// Of a pod that is being made ready.
std::optional<Finding> slot_trouble(const Observation& seen, const Slot& slot) {
  const PodView* pod = find_pod(seen, slot.pod);
  const AgentView* agent = pod == nullptr ? nullptr : find_agent(seen, *pod);
  const bool is_up = pod != nullptr && (pod->has_ended() || (agent != nullptr && is_ready(*agent)));
  const bool may_begin = seen.now >= seen.record->not_before;
  if (!is_up && may_begin && !is_occupied(seen, slot) && seen.now - free_since(seen, pod) > seen.settings.start_limit) {
    const std::string why = pod == nullptr || pod->waiting.empty() ? "" : ": " + pod->waiting;
    return Finding{Trouble::Kind::kLost, "PodNotStarted",
                   fmt::format("pod {} did not start within {} s{}", slot.pod, seen.settings.start_limit.count(), why),
                   true, true};
  }
  const std::string node = pod != nullptr && !pod->node.empty() ? pod->node : slot.node;
  return node.empty() ? std::nullopt : node_trouble(seen, node, slot.node_uid);
}

std::string node_uid(const Observation& seen, const std::string& name) {
  const NodeView* node = seen.cluster.find_node(name);
  return node == nullptr ? "" : node->uid;
}

class Findings {
 public:
  explicit Findings(const Observation& seen) : seen_(seen) {}

  void add(const std::string& pod, const std::string& node, const Finding& finding) {
    const bool is_gravest =
        !trouble_ || (trouble_->kind == Trouble::Kind::kGoing && finding.kind == Trouble::Kind::kLost);
    if (!trouble_) trouble_.emplace();
    if (is_gravest) {
      trouble_->kind = finding.kind;
      trouble_->reason = finding.reason;
      trouble_->message = finding.what;
    }
    trouble_->pods.insert(pod);
    if (!finding.suspect) return;
    Suspect suspect{node_uid(seen_, node), seen_.now, Time()};
    if (finding.pauses) suspect = {suspect.node_uid, Time(), seen_.now + seen_.settings.start_limit};
    trouble_->new_suspects.push_back(std::move(suspect));
  }
  [[nodiscard]] const std::optional<Trouble>& trouble() const { return trouble_; }

 private:
  const Observation& seen_;
  std::optional<Trouble> trouble_;
};

// All answer, and somebody has been broken for a while all the same: where a path is cut, the same pods would not come
// together again.
std::optional<Trouble> broken_connection(const Observation& seen, const Generation& generation) {
  for (const auto& [uid, agent] : seen.agents) {
    const bool is_late = agent.broken_since && seen.now - *agent.broken_since >= kRegroupAfter;
    if (!is_late || !agent.report || !is_broken(agent, generation.generation)) continue;
    if (auto trouble = find_cut_paths(seen, generation)) return trouble;
    return Trouble{Trouble::Kind::kRegroup, "PeerLost",
                   fmt::format("agent {} lost a connection though all pods answer", agent.report->agent)};
  }
  return std::nullopt;
}

}  // namespace

const Member* member_of(const Generation& generation, const std::string& pod_uid) {
  const auto found = std::ranges::find(generation.members, pod_uid, &Member::pod_uid);
  return found == generation.members.end() ? nullptr : &*found;
}

bool is_ready(const AgentView& agent) {
  return agent.answers() && std::ranges::none_of(agent.report->workers, [](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kStarting;
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

const PodView* find_pod(const Observation& seen, const std::string& name) {
  const auto found = std::ranges::find(seen.pods, name, &PodView::name);
  return found == seen.pods.end() ? nullptr : &*found;
}

const AgentView* find_agent(const Observation& seen, const std::string& pod_uid) {
  const auto found = seen.agents.find(pod_uid);
  return found == seen.agents.end() ? nullptr : &found->second;
}

const AgentView* find_agent(const Observation& seen, const PodView& pod) { return find_agent(seen, pod.uid); }

const AgentView* find_answering(const Observation& seen, const Member& member) {
  const AgentView* agent = find_agent(seen, member.pod_uid);
  return agent != nullptr && agent->answers() ? agent : nullptr;
}

bool misses(const AgentView& agent, const Member& peer) {
  const auto& silent = agent.report->unresponsive_peers;
  return std::ranges::find(silent, peer.address.name) != silent.end();
}

bool is_stale(const Observation& seen, const PodView& pod) { return pod.created_for < seen.record->fresh_from; }

bool is_occupied(const Observation& seen, const Slot& slot) {
  return std::ranges::any_of(seen.pods, [&](const PodView& pod) {
    return pod.is_ours && !pod.has_ended() && is_stale(seen, pod) && pod.node == slot.node;
  });
}

std::optional<Trouble> find_newcomers_trouble(const Observation& seen) {
  Findings findings(seen);
  for (const Slot& slot : seen.record->placement.slots) {
    if (const auto finding = slot_trouble(seen, slot)) findings.add(slot.pod, slot.node, *finding);
  }
  return findings.trouble();
}

std::optional<Trouble> find_trouble(const Observation& seen, const Generation& generation) {
  if (!generation.is_sealed()) return find_newcomers_trouble(seen);
  Findings findings(seen);
  for (const Member& member : generation.members) {
    if (!is_watched(seen, generation, member)) continue;
    const auto finding = member_trouble(seen, generation, member);
    const bool parks_for_it = finding && generation.parks && finding->kind == Trouble::Kind::kGoing;
    if (finding && !parks_for_it) findings.add(member.address.name, member.node, *finding);
  }
  return findings.trouble() ? findings.trouble() : broken_connection(seen, generation);
}

Time first_sign(const Observation& seen, const Generation& generation) {
  Time first = seen.now;
  for (const auto& [uid, agent] : seen.agents) {
    if (agent.broken_since && is_broken(agent, generation.generation)) first = std::min(first, *agent.broken_since);
    if (agent.silent_since && member_of(generation, uid) != nullptr) first = std::min(first, *agent.silent_since);
  }
  return first;
}

}  // namespace sailor
