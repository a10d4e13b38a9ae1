// A job whose spec or record cannot be read.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a job whose spec or record is invalid: says so, and changes nothing else.
std::optional<PolicyResult> hold_invalid_job(const Observation& observation);

}  // namespace sailor
