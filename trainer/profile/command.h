// The command `sailor-trainer profile`.
#pragma once

#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/profile/measure.h"

namespace sailor::trainer {

struct ProfileOptions {
  std::string name;                    // metadata.name; empty: made of model and accelerator
  int concurrency = 1;                 // processes that compute at once, this one included
  int threads = 1;                     // of each
  int channel = -1;                    // set in the processes that are only load
  std::string program;                 // this executable
  std::vector<std::string> arguments;  // with which this process was started, for the load
};

// The manifest.
Result<std::string> profile(const MeasureRequest& request, const ProfileOptions& options);

}  // namespace sailor::trainer
