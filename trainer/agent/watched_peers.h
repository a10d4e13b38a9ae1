// WatchedPeers: the state of one PeerWatch. It knows the pods that the watch probes, which pod is probed next, and
// which pods are unresponsive. It does no input or output.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/agent/missed_probes.h"

namespace sailor::trainer {

class WatchedPeers {
 public:
  struct News {
    std::int64_t generation = 0;
    std::string pod;
    bool is_unresponsive = false;  // true: it has missed MissedProbes::kLimit probes in a row; false: it answers again
    friend bool operator==(const News&, const News&) = default;
  };
  WatchedPeers() = default;  // watches no pod

  // The constructor takes the numbers of missed probes from `before`, for pods that are in both. Otherwise a broken
  // path might never be noticed: each generation could fail because of the path and end before any pod has missed
  // enough probes.
  WatchedPeers(std::int64_t generation, const std::vector<AgentAddress>& peers, const WatchedPeers& before);

  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  // Returns the pod to probe next. At least one pod must be watched.
  [[nodiscard]] const AgentAddress& next_to_probe() const { return peers_.at(turn_).address; }

  // Takes the result of the probe of next_to_probe(). A pod that missed a probe keeps its turn until it answers or is
  // unresponsive. Returns news if the pod became unresponsive or answers again.
  std::optional<News> note(bool is_answered);

 private:
  struct Peer {
    AgentAddress address;
    MissedProbes missed_probes;
    bool is_reported_unresponsive = false;  // the last news of this generation said so
  };
  std::int64_t generation_ = 0;
  std::vector<Peer> peers_;
  std::size_t turn_ = 0;
};

// Returns the pods that each of the three watches of agent `pod` probes. The pods that train form a ring. The first
// watch probes the next pod in the ring. The second watch probes the pod after the next one, so that a pod is still
// watched if it is lost together with the pod before it. The third watch probes all other training pods, because any
// path may be broken. Until the generation trains (`has_begun`), pods that leave also watch and are watched, because
// all pods of the generation connect to each other.
inline constexpr std::size_t kWatches = 3;
std::array<std::vector<AgentAddress>, kWatches> peers_to_watch(const Assignment& assignment, const std::string& pod,
                                                               bool has_begun);

}  // namespace sailor::trainer
