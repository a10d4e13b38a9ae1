// BackgroundLoad: starts other processes that compute the same layers while a profile is measured. They imitate the
// other workers of a shared machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/process/child_process.h"
#include "trainer/profile/measure_layers.h"

namespace sailor::trainer {

class BackgroundLoad {
 public:
  // Returns when all processes are computing. They are killed when this object is destroyed.
  static Result<BackgroundLoad> start(const std::string& program, const std::vector<std::string>& arguments,
                                      int processes);

 private:
  std::vector<std::unique_ptr<ChildProcess>> processes_;
};

// The main function of each of these processes. After a first measurement it reports on the channel that it computes,
// and then continues until it is killed.
[[noreturn]] void run_as_background_load(const MeasureRequest& request, int channel);

}  // namespace sailor::trainer
