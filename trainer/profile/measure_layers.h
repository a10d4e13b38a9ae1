// Measures on this machine how long each layer of a model takes (forward, backward, optimizer update) and how much
// memory its activations need.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "core/model/profile.h"

namespace sailor::trainer {

struct MeasureRequest {
  ModelSpec model;
  int sequence_length = 0;
  Accelerator accelerator;  // the name under which the planner finds the profile
  std::vector<int> microbatch_sizes;
  std::vector<int> tensor_parallel_sizes = {1};  // the workers of a group are threads of this process
  Precision precision = Precision::kFp32;
  SequenceParallelism sequence_parallelism = SequenceParallelism::kNever;
  int threads = 1;                        // CPU threads of each worker
  std::string host = "127.0.0.1";         // where the workers of a group meet
  std::chrono::milliseconds time{2'000};  // to spend on each combination of sizes; a few passes run in any case
};

struct Measurement {
  ModelProfile profile;
  // CPU time of the measured thread, when it was alone in its group, as a fraction of the elapsed time. A fraction
  // below 1 means that the machine was busy.
  double cpu_utilization = 1;
};

// Returns an error if a group of one of the requested sizes cannot compute the model.
Result<void> check_tensor_parallel_sizes(const MeasureRequest& request);

// Measures two transformer blocks only, because all blocks are alike.
Measurement measure(const MeasureRequest& request);

}  // namespace sailor::trainer
