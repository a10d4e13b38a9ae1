// The policy for a job whose spec or record cannot be used.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies if the spec or the record is invalid. Reports the error in the conditions and leaves the pods as they are.
std::optional<PolicyResult> hold_invalid_job(const Observation& observation);

}  // namespace sailor
