// Measures how long each layer of a model takes on this machine (forward, backward, update), and the memory it keeps.
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
  Accelerator accelerator;  // under whose name the figures are kept
  std::vector<int> microbatch_sizes;
  std::vector<int> degrees = {1};  // of tensor parallelism; the workers of a group are threads of this process
  Precision precision = Precision::kFp32;
  SequenceParallelism sequence_parallelism = SequenceParallelism::kNever;
  int threads = 1;                        // of each worker
  std::string host = "127.0.0.1";         // where the workers of a group meet
  std::chrono::milliseconds time{2'000};  // to spend on each size and degree, at least a few passes
};

struct Measurement {
  ModelProfile profile;
  double share_of_core = 1;  // that the measured thread had when it was alone in its group; less: the machine was busy
};

// Ok, or why no group of some degree can compute the model.
Result<void> check_degrees(const MeasureRequest& request);

// Blocks are alike, so two of them stand for all.
Measurement measure(const MeasureRequest& request);

}  // namespace sailor::trainer
