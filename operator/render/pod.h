// Pods as the operator creates them: pure functions, shared with `sailor render`.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

// The pod of one slot, with the job's podTemplate merged over it.
kube::Json render_pod(const JobView& job, const Slot& slot, std::int64_t generation, const OperatorSettings& settings);

}  // namespace sailor
