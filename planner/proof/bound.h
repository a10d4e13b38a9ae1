// Bounds that no plan can beat, of whatever plan space, computed in closed form. bound_prover.h has tighter ones.
// docs/planner-bound.md has the proofs.
#pragma once

#include "planner/problem/planning_problem.h"

namespace sailor {

// An upper bound on iterations per second. For prices c >= 0 of the GPU types, each layer costs per sample at least
// w_l = min over types g of c_g / r_gl, where r_gl is the best rate (samples per second) of one GPU of type g on layer
// l over all microbatch sizes and tensor-parallel sizes. The available GPUs can pay at most sum_g N_g c_g per second.
// So T >= B sum_l w_l / sum_g N_g c_g for every c, by linear programming duality; the function looks for the best c.
// The bound is loose where filling the pipeline and synchronisation take a large part of the step.
double bound_throughput(const PlanningProblem& problem);

// A lower bound on the cost of an iteration: GPUs are paid at least while they work, and each layer is cheapest on one
// GPU type. Waiting, synchronisation and traffic cost extra.
Dollars bound_cost(const PlanningProblem& problem);

}  // namespace sailor
