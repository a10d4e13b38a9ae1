// Names the free GPUs that a job cannot use although its spec.resources allow them, and what excludes them.
#pragma once

#include <string>

#include "operator/model/observation.h"

namespace sailor {

// "The job cannot use 6 free GPUs: 4 on cordoned nodes; 2 on nodes with the taint ...". Empty: there are none.
std::string excluded_gpus_text(const Observation& observation);

}  // namespace sailor
