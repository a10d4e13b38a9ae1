// Load: other processes that compute the same while a profile is measured, as the other workers of a shared machine do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/agent/child_process.h"
#include "trainer/profile/measure.h"

namespace sailor::trainer {

class Load {
 public:
  // Returns when all of them are computing; they end with this object.
  static Result<Load> start(const std::string& program, const std::vector<std::string>& arguments, int processes);

 private:
  std::vector<std::unique_ptr<ChildProcess>> processes_;
};

// The other side: tells the starter that it computes, and goes on until it is killed.
[[noreturn]] void compute_for_ever(const MeasureRequest& request, int channel);

}  // namespace sailor::trainer
