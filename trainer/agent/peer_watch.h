// PeerWatch: asks other pods of the generation in turn, again and again, whether they are there.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/agent/pulse.h"
#include "trainer/agent/watched_peers.h"

namespace sailor::trainer {

class PeerWatch {
 public:
  // `tell` is called on the watch's thread.
  PeerWatch(std::chrono::milliseconds timeout, std::function<void(const WatchedPeers::News&)> tell);

  void watch(std::int64_t generation, const std::vector<AgentAddress>& peers);  // from now on

 private:
  void ask_some();
  [[nodiscard]] bool gives_answer(const AgentAddress& peer) const;

  const std::chrono::milliseconds period_;
  const std::function<void(const WatchedPeers::News&)> tell_;
  std::mutex mutex_;
  WatchedPeers peers_;
  int changes_ = 0;  // of who is watched
  Pulse pulse_;      // the last to begin: it uses the others
};

}  // namespace sailor::trainer
