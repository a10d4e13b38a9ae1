// Bounds on throughput and cost that no plan of any plan space can beat, computed in closed form. bound_prover.h finds
// tighter bounds. docs/planner-bound.md has the proofs.
#pragma once

#include "planner/problem/planning_problem.h"

namespace sailor {

// Returns an upper bound on iterations per second. Let T be the time of an iteration, B the global batch size, N_g the
// number of GPUs of type g, and c_g >= 0 any price of a GPU of type g per second. Layer l costs at least w_l = min over
// types g of c_g / r_gl per sample, where r_gl is the best rate (samples per second) of one GPU of type g on layer l
// over all microbatch sizes and tensor-parallel sizes. The available GPUs can pay at most sum_g N_g c_g per second.
// Linear programming duality gives T >= B sum_l w_l / sum_g N_g c_g for every c. The function searches for the c with
// the tightest bound. If a plan may not use all GPUs (maxGpus), the sum counts only the most expensive ones that it may
// use.
// The bound is loose if the pipeline takes long to fill or if synchronisation takes a large part of the step.
double bound_throughput(const PlanningProblem& problem);

// Returns a lower bound on the cost of an iteration. It charges GPUs only for the time in which they compute, and
// assumes for each layer the GPU type and pool on which the layer is cheapest. Real plans also pay for waiting,
// synchronisation and traffic.
Dollars bound_cost(const PlanningProblem& problem);

}  // namespace sailor
