// WorkerSettings: the settings of a worker process. They do not change while it runs.
#pragma once

#include <chrono>
#include <string>

#include "core/protocol/timeouts.h"
#include "trainer/comm/device_backend.h"

namespace sailor::trainer {

// How long a worker waits for other workers and for the checkpoint folder.
struct Timeouts {
  // A peer is lost if it does not respond for this long. While training, the time of a few steps is added
  // (Generation::allow_for_step).
  std::chrono::milliseconds peer = kPeerTimeout;
  // All workers of a generation must arrive at the rendezvous within this time.
  std::chrono::milliseconds join{60'000};
  // If the last checkpoint of the job cannot be written, the workers keep their state and try again for this long.
  std::chrono::milliseconds last_checkpoint{600'000};

  // Returns how long a worker may wait for the operator to replace a lost worker. The operator needs at most `peer` to
  // notice the loss, and about as long to start another generation.
  [[nodiscard]] std::chrono::milliseconds replacement() const { return 2 * peer; }
};

struct WorkerSettings {
  std::string agent;  // the pod's name
  std::string host;   // the pod's IP, where peers connect to
  int gpu = 0;
  Timeouts timeouts;
  MakeDeviceBackend make_device_backend = nullptr;  // GroupOptions::make_device_backend
};

}  // namespace sailor::trainer
