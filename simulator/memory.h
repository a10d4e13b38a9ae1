// The only memory formula: the planner prunes with it, the simulator reports it, the status shows it.
#pragma once

#include "planner/model/estimate.h"
#include "planner/model/job_spec.h"
#include "simulator/layer_costs.h"

namespace sailor {

// Memory of one GPU that holds these layers and keeps the activations of `in_flight` microbatches.
MemoryBreakdown stage_memory(const RangeCost& cost, const TrainingSpec& training, int tensor_parallel, int in_flight);

}  // namespace sailor
