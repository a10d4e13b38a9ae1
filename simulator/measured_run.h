// Measured runs of DeepSpeed, and the simulator's estimates of them (`sailor evaluate`).
#pragma once

#include <string>

#include "core/model/execution_model.h"
#include "core/model/network_model.h"
#include "core/model/plan.h"
#include "core/model/profile.h"

namespace sailor {

struct MeasuredRun {
  std::string file;
  JobSpec job;
  Plan plan;     // pools by zone and accelerator
  Seconds time;  // the time of an iteration
  Bytes memory;  // the memory of the GPU that used the most
};

struct RunEstimate {
  Seconds time;
  Bytes memory;
};

// Returns the execution model of the cluster on which the run was made, or kNotFound if it is unknown.
Result<ExecutionModel> execution_of(const MeasuredRun& run);

// Simulates the run's plan as `sailor simulate` does, with every replica on a node of its own. Returns kNotFound if a
// profile of the model on one of the accelerators is missing, or the bandwidth between two of them.
Result<RunEstimate> estimate_run(const MeasuredRun& run, const ProfileBook& profiles,
                                 const NetworkMeasurements& network, const ExecutionModel& execution);

}  // namespace sailor
