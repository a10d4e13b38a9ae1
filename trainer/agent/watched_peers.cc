#include "trainer/agent/watched_peers.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sailor::trainer {

WatchedPeers::WatchedPeers(std::int64_t generation, const std::vector<AgentAddress>& peers, const WatchedPeers& before)
    : generation_(generation) {
  for (const AgentAddress& peer : peers) {
    const auto known = std::ranges::find(before.peers_, peer, &Peer::address);
    if (known == before.peers_.end()) {
      peers_.push_back({peer, {}});
    } else {
      peers_.push_back(
          {peer, known->missed_probes, known->is_reported_unresponsive && generation == before.generation_});
    }
  }
}

std::optional<WatchedPeers::News> WatchedPeers::note(bool is_answered) {
  Peer& peer = peers_.at(turn_);
  peer.missed_probes.note(is_answered);
  const bool is_unresponsive = peer.missed_probes.is_unresponsive();
  const bool is_news = is_unresponsive != std::exchange(peer.is_reported_unresponsive, is_unresponsive);
  if (is_answered || is_unresponsive) turn_ = (turn_ + 1) % peers_.size();
  return is_news ? std::optional(News{generation_, peer.address.name, is_unresponsive}) : std::nullopt;
}

std::array<std::vector<AgentAddress>, kWatches> peers_to_watch(const Assignment& assignment, const std::string& pod,
                                                               bool has_begun) {
  std::set<int> training;
  for (const WorkerSlot& worker : assignment.workers) {
    if (worker.role) training.insert(worker.agent);
  }
  std::vector<AgentAddress> ring, leaving;
  for (int agent = 0; agent < std::ssize(assignment.agents); ++agent) {
    (training.contains(agent) ? ring : leaving).push_back(assignment.agents[static_cast<std::size_t>(agent)]);
  }
  std::array<std::vector<AgentAddress>, kWatches> watched;
  const auto own = std::ranges::find(ring, pod, &AgentAddress::name);
  if (own != ring.end()) {
    std::ranges::rotate(ring, own);
    for (std::size_t i = 1; i < ring.size(); ++i) watched[std::min(i, kWatches) - 1].push_back(ring[i]);
  } else if (!has_begun) {
    watched.back() = ring;
  }
  if (has_begun) return watched;
  std::erase_if(leaving, [&](const AgentAddress& agent) { return agent.name == pod; });
  watched.back().insert(watched.back().end(), leaving.begin(), leaving.end());
  return watched;
}

}  // namespace sailor::trainer
