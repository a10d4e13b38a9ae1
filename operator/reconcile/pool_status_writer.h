// PoolStatusWriter: writes the status of each GpuPool that has changed. One thread of OperatorRuntime calls it again
// and again, beside the reconciles of jobs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "operator/kube/api.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/observe/fleet.h"

namespace sailor {

class PoolStatusWriter {
 public:
  // `failed` is called when a status cannot be written, with the name of the GpuPool. It is called once for each
  // message, however often the write is repeated.
  PoolStatusWriter(kube::Api& api, Caches& caches,
                   std::function<void(const std::string& pool, const kube::ApiError& error)> failed)
      : api_(api), caches_(caches), failed_(std::move(failed)) {}

  // Writes each status that differs from the stored one, and puts what it has written into the caches. Returns the time
  // to wait before the next call, which repeats what has failed: five seconds, so that a pool that changes all the time
  // causes few writes, or longer if the API server asks for it.
  std::chrono::milliseconds write(const FleetSnapshot& fleet);

 private:
  kube::ApiResult<void> write_status(const kube::Json& pool, const kube::Json& status);

  kube::Api& api_;
  Caches& caches_;
  std::function<void(const std::string&, const kube::ApiError&)> failed_;
  std::map<std::string, std::string> failures_;  // the last message, by the name of the GpuPool
};

}  // namespace sailor
