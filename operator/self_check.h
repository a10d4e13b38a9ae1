// The check of an installation (sailor-operator --check), which `helm test` runs in the cluster with the operator's
// service account.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "operator/kube/api.h"
#include "operator/operator_options.h"

namespace sailor {

struct CheckLine {
  bool is_good = false;
  std::string text;  // what is checked; if it is not good, also why, and what to do
};

// Checks that the API server serves and allows all that the operator reads, that it allows all writes, and that an
// operator leads, which renews its lease. Waits for up to the lease's duration. `sleep` is called between two looks at
// the lease.
std::vector<CheckLine> check_installation(kube::Api& api, const OperatorOptions& options,
                                          const std::function<void(std::chrono::milliseconds)>& sleep);

}  // namespace sailor
