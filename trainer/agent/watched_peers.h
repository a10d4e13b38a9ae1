// WatchedPeers: which pods of its generation an agent asks whether they are there, whose turn it is, and who is silent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/agent/silence.h"

namespace sailor::trainer {

class WatchedPeers {
 public:
  struct News {
    std::int64_t generation = 0;
    std::string pod;
    bool is_silent = false;  // it has left a number of questions in a row unanswered; false: it answers again
    friend bool operator==(const News&, const News&) = default;
  };
  WatchedPeers() = default;  // nobody

  // What was unanswered of those who were watched before counts on: or else a generation that is made again and again
  // for a path that is cut could end each time before that is noticed.
  WatchedPeers(std::int64_t generation, const std::vector<AgentAddress>& peers, const WatchedPeers& before);

  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  [[nodiscard]] const AgentAddress& whose_turn() const { return peers_.at(turn_).address; }

  // Of the one whose turn it is. It is then the next one's, unless this one is to be asked until it is taken for
  // silent.
  std::optional<News> note(bool is_answered);

 private:
  struct Peer {
    AgentAddress address;
    Silence silence;
    bool is_told_silent = false;  // of this generation
  };
  std::int64_t generation_ = 0;
  std::vector<Peer> peers_;
  std::size_t turn_ = 0;
};

// By the agent's watches: the next pod in the ring of those that train; the one after it, so that a pod that goes with
// the one that watches it is watched still; and all others, for any path may be cut. Until the generation trains, those
// that leave watch and are watched too, for all meet.
inline constexpr std::size_t kWatches = 3;
std::array<std::vector<AgentAddress>, kWatches> peers_to_watch(const Assignment& assignment, const std::string& pod,
                                                               bool has_begun);

}  // namespace sailor::trainer
