// StepTimes: how much time a worker spends in each part of its training steps, in seconds. The times are sums over
// several steps.
#pragma once

#include <chrono>

namespace sailor::trainer {

// On a GPU a pass returns before it is computed. Its time counts in the part of the step in which the worker waits for
// the result.
struct StepTimes {
  double forward = 0;   // passes, including the collectives of the tensor-parallel group
  double backward = 0;  // passes, including the start of gradient reductions
  double messages = 0;  // sending to and receiving from other stages, including the wait: pipeline bubbles are here
  double sums = 0;      // waiting for gradient reductions that did not overlap with the passes, and the votes
  // Waiting for the exchange of gradients of peer replicas that did not overlap with the passes.
  double peer_replicas = 0;
  double update = 0;  // the optimizer
};

// Adds the time between its construction and destruction to `total`, which is one of these times.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& total) : total_(total) {}
  ~ScopedTimer() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sailor::trainer
