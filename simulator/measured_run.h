// A real run, and what the simulator says of it.
#pragma once

#include <string>

#include "core/model/network_model.h"
#include "core/model/plan.h"
#include "core/model/profile.h"
#include "simulator/measured_system.h"

namespace sailor {

struct MeasuredRun {
  std::string file;
  JobSpec job;
  Plan plan;  // pools by zone and accelerator
  int gpus_per_node = 1;
  Seconds time;  // of an iteration
  Bytes memory;  // the most of any GPU
};

struct RunEstimate {
  Seconds time;
  Bytes memory;
};

// The system that a run was made on. kNotFound if nothing is known of it.
Result<MeasuredSystem> system_of(const MeasuredRun& run);

// kNotFound if the profiles lack the model or an accelerator, or the network a pair of them.
Result<RunEstimate> estimate_run(const MeasuredRun& run, const ProfileBook& profiles,
                                 const NetworkMeasurements& network, const MeasuredSystem& system);

}  // namespace sailor
