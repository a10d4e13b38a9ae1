#include "operator/reconcile/decide/broken_paths.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "operator/reconcile/decide/quarantine.h"

namespace sailor {
namespace {

// By the pod's place among the members, whom it does not reach. Both ways: either end may have noticed it.
using Cuts = std::map<std::size_t, std::set<std::size_t>>;

Cuts cuts_of(const Observation& seen, const std::vector<Member>& members) {
  Cuts cuts;
  for (std::size_t one = 0; one < members.size(); ++one) {
    const AgentView* agent = find_answering(seen, members[one]);
    if (agent == nullptr) continue;
    for (std::size_t other = 0; other < members.size(); ++other) {
      if (!misses(*agent, members[other]) || find_answering(seen, members[other]) == nullptr) continue;
      cuts[one].insert(other);
      cuts[other].insert(one);
    }
  }
  return cuts;
}

// The generation that its pod was made for.
std::int64_t came_with(const Observation& seen, const Member& member) {
  const PodView* pod = find_pod(seen, member.address.name);
  return pod == nullptr ? 0 : pod->created_for;
}

// Who is cut off from most others; of several, whose loss is the least: what came last has the least state.
std::size_t worst_of(const Cuts& cuts, const Observation& seen, const std::vector<Member>& members) {
  const auto rank = [&](const auto& cut) {
    const Member& member = members[cut.first];
    return std::tuple(cut.second.size(), member.leaves, came_with(seen, member), -member.address.gpus,
                      member.address.name);
  };
  return std::ranges::max_element(cuts, {}, rank)->first;
}

void leave_out(std::size_t member, Cuts& cuts) {
  cuts.erase(member);
  for (auto& [other, unreached] : cuts) unreached.erase(member);
  std::erase_if(cuts, [](const auto& cut) { return cut.second.empty(); });
}

// A path may be back at any time, and to try costs a rescale: so it is tried soon, and less and less often.
Suspect suspect_of(const Observation& seen, const Member& member) {
  constexpr std::chrono::seconds kFirstPause{30};
  constexpr std::chrono::seconds kLongestPause = std::chrono::hours(1);
  std::chrono::seconds pause = kFirstPause;
  for (const Suspect& suspect : seen.record->suspects) {
    if (suspect.node_uid != member.node_uid || !is_remembered(suspect, seen.now)) continue;
    pause = std::max(pause, std::min(2 * suspect.pause, kLongestPause));
  }
  return {member.node_uid, Time(), seen.now + pause, pause};
}

std::string words_of(const Member& member, const Member& unreached, std::size_t count) {
  const std::string others = count == 1 ? "" : fmt::format(" and {} more", count - 1);
  return fmt::format("pod {} on node {} does not reach pod {}{}, though all answer", member.address.name, member.node,
                     unreached.address.name, others);
}

}  // namespace

std::optional<Trouble> find_cut_paths(const Observation& seen, const Generation& generation) {
  Trouble trouble{.kind = Trouble::Kind::kLost, .reason = "PathLost"};
  for (Cuts cuts = cuts_of(seen, generation.members); !cuts.empty();) {
    const std::size_t worst = worst_of(cuts, seen, generation.members);
    const Member& member = generation.members[worst];
    const auto& unreached = cuts.at(worst);
    if (trouble.pods.empty()) {
      trouble.message = words_of(member, generation.members[*unreached.begin()], unreached.size());
    }
    trouble.pods.insert(member.address.name);
    trouble.out_of_reach.insert(member.pod_uid);
    trouble.new_suspects.push_back(suspect_of(seen, member));
    leave_out(worst, cuts);
  }
  return trouble.pods.empty() ? std::nullopt : std::optional(std::move(trouble));
}

}  // namespace sailor
