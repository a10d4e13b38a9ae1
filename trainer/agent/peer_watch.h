// PeerWatch: probes other pods of the generation over HTTP, one after another and again and again.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/agent/periodic_task.h"
#include "trainer/agent/watched_peers.h"

namespace sailor::trainer {

class PeerWatch {
 public:
  // `tell` is called on the watch's thread when a pod becomes unresponsive or answers again.
  PeerWatch(std::chrono::milliseconds timeout, std::function<void(const WatchedPeers::News&)> tell);

  void watch(std::int64_t generation, const std::vector<AgentAddress>& peers);  // from now on, and no others

 private:
  void probe_some();
  [[nodiscard]] bool answers(const AgentAddress& peer) const;

  const std::chrono::milliseconds period_;
  const std::function<void(const WatchedPeers::News&)> tell_;
  std::mutex mutex_;
  WatchedPeers peers_;
  int changes_ = 0;       // how often watch() was called
  PeriodicTask probing_;  // the last member, because it uses the others
};

}  // namespace sailor::trainer
