// SpeedProbe: measures once a second how long a fixed piece of work takes on the compute device. A worker that does not
// train runs it, so that its GPU can be used again when it is as fast as before. The probes in agent/ are something
// else: they ask whether a process still answers.
#pragma once

#include <functional>
#include <thread>

namespace sailor::trainer {

class SpeedProbe {
 public:
  // Calls `report` with the seconds of each measurement, on a thread of its own, until the object is destroyed.
  explicit SpeedProbe(std::function<void(double seconds)> report);

 private:
  std::jthread thread_;
};

}  // namespace sailor::trainer
