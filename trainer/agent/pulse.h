// Pulse: calls something again and again, on a thread of its own, for as long as it lives.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace sailor::trainer {

class Pulse {
 public:
  // A beat begins a period after the one before, or when that one ends if it takes longer: none is made up for.
  Pulse(std::chrono::milliseconds period, std::function<void()> beat);

 private:
  std::jthread thread_;
};

}  // namespace sailor::trainer
