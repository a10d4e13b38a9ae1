// PeerWatch: probes other pods of the generation over HTTP, on its own thread. It probes the pods in turn, several of
// them in each period. If a pod does not answer, the watch probes the same pod again in the next period. It only sends
// the probes; WatchedPeers decides which pod is next and which pods are unresponsive. An agent has kWatches of these
// watches.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/agent/agent_credentials.h"
#include "trainer/agent/periodic_task.h"
#include "trainer/agent/watched_peers.h"

namespace sailor::trainer {

class PeerWatch {
 public:
  // The period is `timeout` / MissedProbes::kLimit. The watch's thread calls `tell` when a pod becomes unresponsive or
  // answers again. `credentials` may be null; all agents of a job have some, or none has.
  PeerWatch(std::chrono::milliseconds timeout, AgentCredentials* credentials,
            std::function<void(const WatchedPeers::News&)> tell);

  // From now on the watch probes these pods and no others. `peers` may be empty.
  void watch(std::int64_t generation, const std::vector<AgentAddress>& peers);

 private:
  void probe_some();
  [[nodiscard]] bool answers(const AgentAddress& peer) const;

  const std::chrono::milliseconds period_;
  AgentCredentials* const credentials_;
  const std::function<void(const WatchedPeers::News&)> tell_;
  std::mutex mutex_;
  WatchedPeers peers_;
  int changes_ = 0;       // number of calls of watch()
  PeriodicTask probing_;  // the last member, because it uses the others
};

}  // namespace sailor::trainer
