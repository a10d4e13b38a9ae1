// WorkerSettings: what a worker is told once, when its process starts.
#pragma once

#include <chrono>
#include <string>

#include "core/protocol/timeouts.h"

namespace sailor::trainer {

struct Patience {
  std::chrono::milliseconds peer = kPeerTimeout;  // silence after which a peer counts as lost, beyond what a step takes
  std::chrono::milliseconds join{60'000};         // until all workers of a generation have come

  // Until the operator has noticed a loss, which takes it no longer than it takes peers, and made another generation.
  [[nodiscard]] std::chrono::milliseconds replacement() const { return 2 * peer; }
};

struct WorkerSettings {
  std::string agent;  // the pod's name
  std::string host;   // the pod's IP, where peers connect to
  int gpu = 0;
  Patience patience;
};

}  // namespace sailor::trainer
