#include "operator/model/unused_pools.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace sailor {
namespace {

std::vector<std::string> allowed_pools(const JobSpec& job, const std::set<PoolKey>& pools) {
  std::vector<std::string> allowed;
  for (const PoolKey& pool : pools) {
    if (job.resources.allows(pool)) allowed.push_back(to_string(pool));
  }
  return allowed;
}

}  // namespace

std::string_view why_unused(Reason reason) {
  if (reason == Reason::kPoolWithoutPrice) {
    return "their price is not known. Declare a GpuPool with pricePerGpuHour.";
  }
  if (reason == Reason::kPoolOfUnknownAccelerator) {
    return "their accelerator is unknown. State the memory and the rates of its GPUs in spec.gpu of a GpuPool.";
  }
  return "the trainer's image has no kernels for their GPUs. Use newer GPUs, or an image that has them, and state its "
         "trainerImage.minComputeCapability in the chart.";
}

void set_unused_pools(JobStatus& status, const JobSpec& job, const ClusterView& cluster) {
  status.unpriced_pools = allowed_pools(job, cluster.unpriced);
  status.pools_of_unknown_accelerators = allowed_pools(job, cluster.of_unknown_accelerator);
  status.pools_without_kernels = allowed_pools(job, cluster.without_kernels);
}

std::vector<UnusedPool> unused_pools(const JobStatus& status) {
  std::vector<UnusedPool> unused;
  const auto add = [&unused](const std::vector<std::string>& pools, Reason reason) {
    std::ranges::transform(pools, std::back_inserter(unused), [reason](const std::string& pool) {
      return UnusedPool{pool, reason};
    });
  };
  add(status.unpriced_pools, Reason::kPoolWithoutPrice);
  add(status.pools_of_unknown_accelerators, Reason::kPoolOfUnknownAccelerator);
  add(status.pools_without_kernels, Reason::kPoolWithoutKernels);
  return unused;
}

std::string warning_about(const UnusedPool& unused) {
  return fmt::format("The nodes of {} are not used: {}", unused.pool, why_unused(unused.reason));
}

}  // namespace sailor
