// Trains a plan from its first step to its last: a thread for each worker, real Gloo between them, nothing of
// elasticity and checkpoints. What every plan has to learn alike.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/protocol/assignment.h"
#include "tests/trainer/support/nccl_like_backend.h"
#include "trainer/comm/group.h"

namespace sailor::trainer::testing {

struct Trained {
  std::vector<double> losses;                 // by step
  std::map<int, std::vector<float>> weights;  // whole layer states, by id
  std::map<int, double> microbatch_seconds;   // TrainingStep::own_seconds() of the last step, per microbatch, by rank
  std::map<int, std::int64_t> peak_bytes;     // of the tensors that a worker adds to its state while it trains, by rank
};

// Puts something of a test's own in a worker's group's place.
using Wrap = std::function<std::unique_ptr<Group>(std::unique_ptr<Group> group, const std::string& name, int rank)>;

struct TrainOptions {
  Wrap wrap = {};
  MakeDeviceBackend collectives = collectives_under_test();
  std::chrono::milliseconds timeout{60'000};
};

Trained train(const Assignment& job, const Plan& plan, const TrainOptions& options = {});

// How far apart two trainings of one job are.
struct Difference {
  double loss = 0;     // largest, relative, of all steps
  double weights = 0;  // largest, relative to the largest value of its tensor
  std::string tensor;  // where that is
};
Difference difference(const Assignment& job, const Trained& a, const Trained& b);

inline constexpr double kLossTolerance = 1e-5;    // relative, FP32
inline constexpr double kWeightTolerance = 3e-5;  // of the tensor's largest value

// Trains the job with one worker and with the plan; compares the losses of all steps and the weights at the end.
void expect_same_learning(const Assignment& job, const Plan& plan);

}  // namespace sailor::trainer::testing
