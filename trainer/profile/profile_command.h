// The command `sailor-trainer profile`: measures the layers of a model on this machine and prints a ModelProfile.
#pragma once

#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/device/device.h"
#include "trainer/profile/measure_layers.h"

namespace sailor::trainer {

struct ProfileOptions {
  std::string name;  // metadata.name; if empty, made of the model, the accelerator and the settings
  DeviceChoice device = DeviceChoice::kAuto;
  int concurrency = 1;                 // processes that compute at the same time, this one included
  int threads = 1;                     // CPU threads of each process
  int channel = -1;                    // set only in processes that generate background load (background_load.h)
  std::string program;                 // the path of this executable, to start the background load
  std::vector<std::string> arguments;  // the arguments of this process, to start the background load
};

// Returns the manifest as YAML.
Result<std::string> profile(const MeasureRequest& request, const ProfileOptions& options);

}  // namespace sailor::trainer
