// PlanDetails: what an Estimate sums up, item by item, for reports: the traffic between zones, the cost of every pool,
// the memory of every stage, and the step operation by operation.
#pragma once

#include <vector>

#include "simulator/job_simulation.h"

namespace sailor {

// What the GPUs of one zone send to those of another, or among themselves, in an iteration.
struct ZoneTraffic {
  Zone from;
  Zone to;
  Bytes activations;  // and their gradients, between stages
  Bytes gradients;    // of parameters: between the replicas of a stage, and to holders of peer replicas
  Dollars cost;

  [[nodiscard]] Bytes bytes() const { return activations + gradients; }
};

struct PoolCharge {
  PoolKey pool;
  int used = 0;
  int paid = 0;  // more than used if whole nodes are paid for
  DollarsPerHour price_per_gpu;
  Dollars cost;  // of an iteration
};

struct PlanDetails {
  std::vector<ZoneTraffic> traffic;  // ascending by zones, each pair once; its costs sum up to the estimate's traffic
  std::vector<PoolCharge> charges;   // ascending by pool; their costs sum up to the estimate's GPUs
  std::vector<StageMemory> memory;   // by stage, of its worst replica
  std::vector<StageSync> syncs;      // by stage
  PaperComparison paper;
  StepTiming step;
};

// `groups` is grouped(plan).
PlanDetails details_of(const JobSimulation& simulation, const Plan& plan, const GroupedPlan& groups);

}  // namespace sailor
