// decide: the operator's decision about one job, as a pure function of an observation.
//
// The policies are tried in the order that decide.cc lists. The first policy that applies decides about the job's
// record. Then run_generation() maintains the pods and the assignments of the newest generation, and with_status() adds
// the status and the events.
#pragma once

#include "operator/reconcile/decide/decision.h"

namespace sailor {

Decision decide(const Observation& observation);

}  // namespace sailor
