// Estimate: time, memory and cost of a plan, as the simulator computes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/units.h"

namespace sailor {

// The parts of an iteration's time. They sum up to Estimate::iteration.
struct TimeBreakdown {
  Seconds compute;         // the busiest stage's forward and backward passes
  Seconds bubble;          // filling and draining the pipeline, and waiting for other stages
  Seconds point_to_point;  // activations and their gradients between stages, where not overlapped with compute
  Seconds gradient_sync;   // all-reduce between the replicas of a stage, where not overlapped with compute
  Seconds update;          // the optimizer
  friend bool operator==(const TimeBreakdown&, const TimeBreakdown&) = default;
};

// Peak memory of one GPU of a stage, in the replica of the stage that needs the most.
struct MemoryBreakdown {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes communication;
  Bytes activations;  // kept for the backward passes of all microbatches in flight
  Bytes workspace;    // the largest temporary buffers, and the framework's own memory

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + communication + activations + workspace;
  }
  friend bool operator==(const MemoryBreakdown&, const MemoryBreakdown&) = default;
};

// What failures of nodes are expected to cost. A failure is the loss of a node without time to move its state.
struct ExpectedLoss {
  double failures_per_hour = 0;     // of all nodes of the plan together
  Seconds per_failure;              // the mean of the training time that a failure costs
  std::vector<int> exposed_stages;  // stages of whose state some part is on one node only
  friend bool operator==(const ExpectedLoss&, const ExpectedLoss&) = default;

  // Lost time per time of useful training. It may be above 1.
  [[nodiscard]] double ratio() const { return failures_per_hour * per_failure.value() / 3600; }
};

// Whether expected losses count when plans are compared. Unless its redundancy is Auto, the job says itself how its
// state is protected, and they do not.
inline bool counts_losses(const JobSpec& job) { return job.redundancy == Redundancy::kAuto; }

// Returns the factor by which the expected loss lengthens training when plans are compared.
inline double loss_factor(const JobSpec& job, const ExpectedLoss& loss) {
  return counts_losses(job) ? 1 + loss.ratio() : 1;
}

struct Estimate {
  Seconds iteration;
  TimeBreakdown time;
  std::vector<MemoryBreakdown> memory;  // one entry per stage
  Dollars gpu_cost_per_iteration;
  Dollars traffic_cost_per_iteration;
  DollarsPerHour cost_per_hour;  // GPUs and traffic
  double tokens_per_second = 0;
  ExpectedLoss expected_loss;
  std::map<PoolKey, int> gpus;
  std::vector<std::string> violations;  // each names the stage or pool, what it needs and the limit; empty: it fits
  std::vector<std::string> notes;       // assumptions: "analytic profile of ...", "interpolated ..."
  friend bool operator==(const Estimate&, const Estimate&) = default;

  [[nodiscard]] bool fits() const { return violations.empty(); }
  [[nodiscard]] double throughput() const { return 1.0 / iteration.value(); }  // iterations per second
  [[nodiscard]] Dollars cost_per_iteration() const { return gpu_cost_per_iteration + traffic_cost_per_iteration; }
};

}  // namespace sailor
