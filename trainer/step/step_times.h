// StepTimes: where a worker's time goes in a step, in seconds.
#pragma once

#include <chrono>

namespace sailor::trainer {

// On a GPU a pass returns before it is computed: what it takes shows up where the worker waits for its result.
struct StepTimes {
  double forward = 0;   // passes, with what a tensor-parallel group adds up in them
  double backward = 0;  // and starting to sum gradients
  double messages = 0;  // between stages, waiting for them included: a pipeline's bubbles are here
  double sums = 0;      // of gradients, as far as they were not done meanwhile, and agreeing on the step
  double copies = 0;    // exchanging gradients with the peers that keep copies, as far as it was not done meanwhile
  double update = 0;
};

// Adds the time that it lives to one of them.
class Timed {
 public:
  explicit Timed(double& part) : part_(part) {}
  ~Timed() { part_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& part_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace sailor::trainer
