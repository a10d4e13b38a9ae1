// decide: what the operator does for a job, as a pure function. decide.cc lists the policies in their order.
#pragma once

#include "operator/reconcile/decide/decision.h"

namespace sailor {

Decision decide(const Observation& observation);

}  // namespace sailor
