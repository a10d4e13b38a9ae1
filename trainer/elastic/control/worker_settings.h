// WorkerSettings: the settings of a worker process, fixed when it starts.
#pragma once

#include <chrono>
#include <string>

#include "core/protocol/timeouts.h"

namespace sailor::trainer {

struct Patience {
  // A peer that is unresponsive for this long, beyond the duration of a step, is lost.
  std::chrono::milliseconds peer = kPeerTimeout;
  std::chrono::milliseconds join{60'000};  // until all workers of a generation have arrived

  // Until the operator has noticed a loss, which takes it no longer than it takes peers, and has made another
  // generation.
  [[nodiscard]] std::chrono::milliseconds replacement() const { return 2 * peer; }
};

struct WorkerSettings {
  std::string agent;  // the pod's name
  std::string host;   // the pod's IP, where peers connect to
  int gpu = 0;
  Patience patience;
};

}  // namespace sailor::trainer
