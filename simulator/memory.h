// The only memory formula: the planner prunes with it, the simulator reports it, the status shows it.
#pragma once

#include "planner/model/estimate.h"
#include "planner/model/job_spec.h"
#include "simulator/layer_costs.h"

namespace sailor {

// What the memory of a GPU depends on besides its layers.
struct Holding {
  int tensor_parallel = 1;
  int optimizer_shards = 1;  // replicas that share the optimizer's state; 1: each has all of it
  int in_flight = 0;         // microbatches whose activations are kept
};

// Memory of one GPU that holds these layers.
MemoryBreakdown stage_memory(const RangeCost& cost, const TrainingSpec& training, const Holding& holding);

}  // namespace sailor
