// Measures on the compute device how long each layer of a model takes (forward, backward, optimizer update) and how
// much memory its activations need.
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
  std::string host = "127.0.0.1";         // address at which the workers of a group meet
  std::chrono::milliseconds time{2'000};  // time for each combination of sizes; at least a few passes run
};

struct Measurement {
  ModelProfile profile;
  // The CPU time of the measured thread as a fraction of the elapsed time: the lowest fraction of all measurements with
  // tensor_parallel 1. (In larger groups the thread also waits for the others.) On a CPU a fraction below 1 means that
  // the machine was busy.
  double cpu_utilization = 1;
};

// Returns an error if the model has fewer positions than a sequence has tokens, or if a group of one of the requested
// sizes cannot compute it.
Result<void> check_sizes(const MeasureRequest& request);

// Measures the times of all combinations of sizes, and the memory per sample at the last microbatch size. Measures only
// two transformer blocks, because all blocks are alike.
Measurement measure(const MeasureRequest& request);

}  // namespace sailor::trainer
