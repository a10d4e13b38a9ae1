// WatchedPeers: the pods of its generation that an agent probes: whose turn it is, and which ones are unresponsive.
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
    bool is_unresponsive = false;  // it has missed MissedProbes::kLimit probes in a row; false: it answers again
    friend bool operator==(const News&, const News&) = default;
  };
  WatchedPeers() = default;  // watches no pod

  // Missed probes of pods that were watched before keep counting. Otherwise a generation that is made again and again
  // because of a broken path could end each time before the path is noticed.
  WatchedPeers(std::int64_t generation, const std::vector<AgentAddress>& peers, const WatchedPeers& before);

  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  [[nodiscard]] const AgentAddress& whose_turn() const { return peers_.at(turn_).address; }

  // Takes the result of the probe of the pod whose turn it is. A pod that missed a probe keeps its turn until it
  // answers or counts as unresponsive. Returns news if the pod became unresponsive or answers again.
  std::optional<News> note(bool is_answered);

 private:
  struct Peer {
    AgentAddress address;
    MissedProbes missed_probes;
    bool is_reported_unresponsive = false;  // as a pod of this generation
  };
  std::int64_t generation_ = 0;
  std::vector<Peer> peers_;
  std::size_t turn_ = 0;
};

// The pods that each of an agent's three watches probes. The pods that train form a ring. The first watch probes the
// next pod in the ring. The second one probes the pod after it, so that a pod is still watched if it is lost together
// with the pod that watches it. The third one probes all others, because any path may be broken. Until the generation
// trains, pods that leave also watch and are watched, because all of them connect to each other.
inline constexpr std::size_t kWatches = 3;
std::array<std::vector<AgentAddress>, kWatches> peers_to_watch(const Assignment& assignment, const std::string& pod,
                                                               bool has_begun);

}  // namespace sailor::trainer
