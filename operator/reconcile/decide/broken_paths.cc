#include "operator/reconcile/decide/broken_paths.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/quarantine.h"

namespace sailor {
namespace {

// Maps the index of each member to the indices of the members that it cannot reach. Contains each path in both
// directions, although perhaps only one end has noticed that it is broken.
using BrokenPaths = std::map<std::size_t, std::set<std::size_t>>;

BrokenPaths broken_paths_of(const Observation& observation, const std::vector<Member>& members) {
  BrokenPaths broken;
  for (std::size_t one = 0; one < members.size(); ++one) {
    const AgentView* agent = find_answering(observation, members[one]);
    if (agent == nullptr) continue;
    for (std::size_t other = 0; other < members.size(); ++other) {
      if (!cannot_reach(*agent, members[other]) || find_answering(observation, members[other]) == nullptr) continue;
      broken[one].insert(other);
      broken[other].insert(one);
    }
  }
  return broken;
}

// Returns the number of the generation that the member's pod was created for.
std::int64_t created_for(const Observation& observation, const Member& member) {
  const PodView* pod = find_pod(observation, member.address.name);
  return pod == nullptr ? 0 : pod->created_for_generation;
}

// Returns the member with the most broken paths. Of several, returns the one whose loss costs least: the pod that was
// created last has the least state.
std::size_t worst_of(const BrokenPaths& broken, const Observation& observation, const std::vector<Member>& members) {
  const auto rank = [&](const auto& cut) {
    const Member& member = members[cut.first];
    return std::tuple(cut.second.size(), member.leaves, created_for(observation, member), -member.address.gpus,
                      member.address.name);
  };
  return std::ranges::max_element(broken, {}, rank)->first;
}

void leave_out(std::size_t member, BrokenPaths& broken) {
  broken.erase(member);
  for (auto& [other, unreached] : broken) unreached.erase(member);
  std::erase_if(broken, [](const auto& cut) { return cut.second.empty(); });
}

// A path may recover at any time, but each attempt to use it costs a rescale. The quarantine of a node whose paths
// break again and again therefore doubles, up to an hour.
QuarantinedNode quarantine_of(const Observation& observation, const Member& member) {
  constexpr std::chrono::seconds kFirst{30};
  constexpr std::chrono::seconds kLongest = std::chrono::hours(1);
  std::chrono::seconds duration = kFirst;
  for (const QuarantinedNode& quarantined : observation.record.value().quarantined_nodes) {
    if (quarantined.node_uid != member.node_uid || !is_remembered(quarantined, observation.now)) continue;
    duration = std::max(duration, std::min(2 * quarantined.duration, kLongest));
  }
  return {member.node_uid, Time(), observation.now + duration, duration};
}

std::string message_of(const Member& member, const Member& unreached, std::size_t count) {
  const std::string others = count == 1 ? "" : fmt::format(" and {} more", count - 1);
  return fmt::format("pod {} on node {} does not reach pod {}{}, although all answer", member.address.name, member.node,
                     unreached.address.name, others);
}

}  // namespace

std::vector<UnreachablePod> pods_to_leave_out(const Observation& observation, const Generation& generation) {
  std::vector<UnreachablePod> pods;
  for (BrokenPaths broken = broken_paths_of(observation, generation.members); !broken.empty();) {
    const std::size_t worst = worst_of(broken, observation, generation.members);
    const Member& member = generation.members[worst];
    const auto& unreached = broken.at(worst);
    pods.push_back({member.address.name, member.pod_uid,
                    message_of(member, generation.members[*unreached.begin()], unreached.size()),
                    quarantine_of(observation, member)});
    leave_out(worst, broken);
  }
  return pods;
}

}  // namespace sailor
