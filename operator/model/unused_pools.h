// The pools whose nodes the operator omits although a job may use them, and the warning about each of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/job_spec.h"
#include "operator/model/cluster_view.h"
#include "operator/model/job_status.h"
#include "operator/model/reason.h"

namespace sailor {

struct UnusedPool {
  std::string pool;
  Reason reason = Reason::kPoolWithoutPrice;  // or kPoolOfUnknownAccelerator, or kPoolWithoutKernels
  friend bool operator==(const UnusedPool&, const UnusedPool&) = default;
};

// Sets the fields of the status that list these pools.
void set_unused_pools(JobStatus& status, const JobSpec& job, const ClusterView& cluster);
// Returns the pools that the status lists.
std::vector<UnusedPool> unused_pools(const JobStatus& status);
// Returns why nodes are not used, and what to do about it, for each of the reasons of UnusedPool.
std::string_view why_unused(Reason reason);
// Says that the nodes of the pool are not used, why, and what to do about it.
std::string warning_about(const UnusedPool& unused);

}  // namespace sailor
