#include "operator/reconcile/trouble.h"

#include <algorithm>

#include <fmt/format.h>

namespace sailor {
namespace {

constexpr int kUnanswered = 2;                           // polls, once a peer is broken
constexpr int kUnansweredUnready = 3;                    // polls, once the node is not ready
constexpr auto kRegroupAfter = std::chrono::seconds(2);  // all answer, and somebody is broken all the same
constexpr auto kStartLimit = std::chrono::minutes(10);   // for a pod to come up

struct Finding {
  Trouble::Kind kind = Trouble::Kind::kLost;
  std::string reason;
  std::string what;
  bool suspect = false;
};

bool someone_is_broken(const Observation& seen) {
  return std::ranges::any_of(seen.agents,
                             [&](const auto& agent) { return is_broken(agent.second, seen.record->generation); });
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

std::optional<Finding> silence(const Observation& seen, const Member& member, const AgentView* agent) {
  if (agent == nullptr || agent->answers()) return std::nullopt;
  const NodeView* node = seen.cluster.find_node(member.node);
  const bool is_unready = node != nullptr && !node->is_ready;
  const bool is_silent = agent->failures >= kUnanswered && someone_is_broken(seen);
  if (!is_silent && !(is_unready && agent->failures >= kUnansweredUnready)) return std::nullopt;
  return Finding{Trouble::Kind::kLost, "NodeLost",
                 fmt::format("pod {} on node {} gives no answer", member.address.name, member.node), true};
}

// Of a pod that takes part in the running generation.
std::optional<Finding> member_trouble(const Observation& seen, const Member& member) {
  const PodView* pod = find_pod(seen, member.address.name);
  if (pod == nullptr || pod->uid != member.pod_uid) return pod_lost(seen, member, "is gone");
  if (all_finished(*pod)) return std::nullopt;
  if (pod->has_ended()) return pod_lost(seen, member, "has ended");
  const AgentView* agent = find_agent(seen, *pod);
  if (auto finding = silence(seen, member, agent)) return finding;
  if (auto finding = node_trouble(seen, member.node, member.node_uid)) return finding;
  const bool told_to_stop = pod->is_deleting || (agent != nullptr && agent->report && agent->report->is_terminating);
  if (!told_to_stop) return std::nullopt;
  return Finding{Trouble::Kind::kGoing, "NodeTerminating", fmt::format("pod {} was told to stop", pod->name), false};
}

// Of a pod that is being made ready.
std::optional<Finding> slot_trouble(const Observation& seen, const Slot& slot) {
  const PodView* pod = find_pod(seen, slot.pod);
  const bool is_late = pod != nullptr && pod->phase == PodPhase::kPending && seen.now - pod->created > kStartLimit;
  if (is_late) {
    return Finding{Trouble::Kind::kLost, "PodNotStarted",
                   fmt::format("pod {} did not start in {} minutes", slot.pod, kStartLimit.count()), true};
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
    if (finding.suspect) trouble_->new_suspects.push_back({node_uid(seen_, node), seen_.now});
  }
  [[nodiscard]] const std::optional<Trouble>& trouble() const { return trouble_; }

 private:
  const Observation& seen_;
  std::optional<Trouble> trouble_;
};

std::optional<Trouble> regroup(const Observation& seen) {
  for (const auto& [uid, agent] : seen.agents) {
    const bool is_late = agent.broken_since && seen.now - *agent.broken_since >= kRegroupAfter;
    if (!is_late || !agent.report || !is_broken(agent, seen.record->generation)) continue;
    return Trouble{Trouble::Kind::kRegroup,
                   "PeerLost",
                   fmt::format("agent {} lost a connection though all pods answer", agent.report->agent),
                   {},
                   {}};
  }
  return std::nullopt;
}

}  // namespace

bool is_broken(const AgentView& agent, std::int64_t generation) {
  return agent.report && std::ranges::any_of(agent.report->workers, [&](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kBroken && worker.generation == generation;
         });
}

const PodView* find_pod(const Observation& seen, const std::string& name) {
  const auto found = std::ranges::find(seen.pods, name, &PodView::name);
  return found == seen.pods.end() ? nullptr : &*found;
}

const AgentView* find_agent(const Observation& seen, const PodView& pod) {
  const auto found = seen.agents.find(pod.uid);
  return found == seen.agents.end() ? nullptr : &found->second;
}

bool is_suspect(const Observation& seen, const NodeView& node) {
  if (!seen.record) return false;
  const auto& suspects = seen.record->suspects;
  const auto found = std::ranges::find(suspects, node.uid, &Suspect::node_uid);
  return found != suspects.end() && node.heartbeat <= found->since;
}

std::optional<Trouble> find_trouble(const Observation& seen) {
  Findings findings(seen);
  const GenerationRecord& record = *seen.record;
  if (!record.is_sealed()) {
    for (const Slot& slot : record.placement.slots) {
      if (const auto finding = slot_trouble(seen, slot)) findings.add(slot.pod, slot.node, *finding);
    }
    return findings.trouble();
  }
  for (const Member& member : record.members) {
    if (member.leaves) continue;  // if its going hurts, somebody is broken
    if (const auto finding = member_trouble(seen, member)) findings.add(member.address.name, member.node, *finding);
  }
  return findings.trouble() ? findings.trouble() : regroup(seen);
}

}  // namespace sailor
