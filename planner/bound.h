// A bound that no plan beats, whatever its shape: from the fastest time of every layer on every type of GPU.
#pragma once

#include "planner/world.h"

namespace sailor {

// Iterations per second. For prices c >= 0 of the types, a layer costs at least w_l = min over types g of c_g / r_gl
// for each sample, where r_gl is the best rate of one GPU of type g on layer l over all microbatch sizes and degrees;
// the GPUs that there are can pay at most sum of N_g c_g a second. So T >= B sum_l w_l / sum_g N_g c_g for every c
// (linear programming duality; synchronisation, pipeline fill and memory only add to T). The best c is sought.
double bound_throughput(const World& world);

}  // namespace sailor
