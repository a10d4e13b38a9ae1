#include "operator/reconcile/pool_status_writer.h"

#include <algorithm>

#include "operator/model/pool_status.h"

namespace sailor {
namespace {

using kube::Json;

constexpr std::chrono::milliseconds kPeriod{5000};

}  // namespace

// The resourceVersion makes the write of a former leader that was paused fail.
kube::ApiResult<void> PoolStatusWriter::write_status(const Json& pool, const Json& status) {
  const Json object = {
      {"apiVersion", kube::kGpuPools.group_version},
      {"kind", kube::kGpuPools.kind},
      {"metadata",
       {{"name", kube::name_of(pool)}, {"uid", kube::uid_of(pool)}, {"resourceVersion", kube::version_of(pool)}}},
      {"status", status}};
  auto written = api_.apply_status(kube::kGpuPools, object);
  if (!written) return tl::unexpected(std::move(written).error());
  caches_.pools.put(std::move(*written));
  return {};
}

std::chrono::milliseconds PoolStatusWriter::write(const FleetSnapshot& fleet) {
  const auto pools = caches_.pools.all();
  const auto statuses = pool_statuses({*fleet.cluster, *fleet.histories, pools});
  std::erase_if(failures_, [&](const auto& failure) { return !statuses.contains(failure.first); });
  for (const kube::Object& pool : pools) {
    const std::string name = kube::name_of(*pool);
    const Json status = to_json(statuses.at(name));
    const Json* stored = kube::find_at(*pool, {"status"});
    if (stored != nullptr && *stored == status) continue;
    const auto written = write_status(*pool, status);
    if (written) {
      failures_.erase(name);
      continue;
    }
    const kube::ApiError& error = written.error();
    if (std::exchange(failures_[name], error.message) != error.message) failed_(name, error);
    // The API server would not answer the other writes either.
    if (error.is_transient()) return std::max(kPeriod, error.retry_after.value_or(kPeriod));
  }
  return kPeriod;
}

}  // namespace sailor
