// Checks a record like any other input. Whoever may write a JobRecord could otherwise make the operator allocate memory
// without limit, or refer to parts of a plan that do not exist.
#pragma once

#include "operator/model/record.h"

namespace sailor {

inline constexpr int kMostPodsOfAJob = 20000;  // more than any Kubernetes cluster has nodes

// Fails if a number is out of its range, or if an index refers to nothing.
Result<void> check_record(const GenerationRecord& record);

}  // namespace sailor
