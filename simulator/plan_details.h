// PlanDetails: the items that an Estimate sums up, for reports: the traffic between zones, the cost of every pool,
// the memory of every stage, and the step operation by operation.
#pragma once

#include <vector>

#include "simulator/job_simulation.h"

namespace sailor {

// The traffic of an iteration from the GPUs of one zone to those of another, or between the GPUs of one zone.
struct ZoneTraffic {
  Zone from;
  Zone to;
  Bytes activations;  // activations and their gradients, between stages
  Bytes gradients;    // gradients of parameters: between the replicas of a stage, and to backup holders
  Dollars cost;

  [[nodiscard]] Bytes bytes() const { return activations + gradients; }
};

struct PoolCharge {
  PoolKey pool;
  int used = 0;
  int paid = 0;  // more than used if whole nodes are paid for
  DollarsPerHour price_per_gpu;
  Dollars cost;  // the cost of an iteration
};

struct PlanDetails {
  std::vector<ZoneTraffic> traffic;  // ascending by zones, each pair once; its costs sum up to the estimate's traffic
  std::vector<PoolCharge> charges;   // ascending by pool; their costs sum up to the estimate's GPUs
  std::vector<StageMemory> memory;   // one entry per stage: the replica that needs the most
  std::vector<StageSync> syncs;      // one entry per stage
  PaperComparison paper;
  // The step, or, if it has too many passes to simulate them one by one, a step of `step_microbatches` whose replicas
  // have about the same parts of them.
  StepTiming step;
  int step_microbatches = 0;
};

// `groups` is grouped(plan).
PlanDetails details_of(const JobSimulation& simulation, const Plan& plan, const GroupedPlan& groups);

}  // namespace sailor
