// Orphans: deletes what a deleted job has left and nothing owns (model/orphan.h): its pods, which would train on for
// ever, its JobRecord, because of which a new job of the same name could not store its record, its Workloads, which
// would keep quota, its credentials and its NetworkPolicy. An orphaned ConfigMap stays: a new job of the name takes it
// over.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/api.h"
#include "operator/reconcile/observe/caches.h"

namespace sailor {

class Orphans {
 public:
  Orphans(kube::Api& api, const Caches& caches) : api_(api), caches_(caches) {}

  // Deletes the orphans of jobs of this name. If the cache does not know their job, asks the API server whether it is
  // gone, because the cache may be behind. Returns what it has deleted, such as "Pod default/job-1".
  kube::ApiResult<std::vector<std::string>> remove(const JobKey& key);

 private:
  struct Orphan {
    kube::Resource resource;
    kube::Object object;
    std::string job_uid;
  };
  [[nodiscard]] std::vector<Orphan> find(const JobKey& key) const;
  kube::ApiResult<void> remove_job_security(const JobKey& job, const std::string& job_uid);

  kube::Api& api_;
  const Caches& caches_;
  mutable std::mutex mutex_;
  std::set<std::string> deleted_;  // UIDs; the cache may show them for a while
};

}  // namespace sailor
