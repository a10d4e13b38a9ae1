// Leftovers: deletes what a deleted job has left. Its pods at once, because they use GPUs, and the garbage collector of
// Kubernetes, which deletes what the job owned, may take many seconds to reach them. And what nothing owns
// (model/orphan.h): pods, which would train on for ever, the JobRecord, because of which a new job of the same name
// could not store its record, Workloads, which would keep quota, credentials and the NetworkPolicy. An orphaned
// ConfigMap stays: a new job of the name takes it over.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/api.h"
#include "operator/reconcile/observe/caches.h"

namespace sailor {

class Leftovers {
 public:
  Leftovers(kube::Api& api, const Caches& caches) : api_(api), caches_(caches) {}

  // Deletes what deleted jobs of this name have left. If the cache does not know a job, asks the API server whether it
  // is gone, because the cache may be behind. Returns what it has deleted, such as "Pod default/job-1".
  kube::ApiResult<std::vector<std::string>> remove(const JobKey& key);

 private:
  struct Leftover {
    kube::Resource resource;
    kube::Object object;
    std::string job_uid;
  };
  [[nodiscard]] std::vector<Leftover> find(const JobKey& key) const;
  // Returns the UIDs of those jobs of the leftovers that the API server has.
  kube::ApiResult<std::set<std::string>> existing_jobs(const std::vector<Leftover>& leftovers);
  kube::ApiResult<void> remove_job_security(const JobKey& job, const std::string& job_uid);

  kube::Api& api_;
  const Caches& caches_;
  mutable std::mutex mutex_;
  std::set<std::string> deleted_;  // UIDs; the cache may show them for a while
};

}  // namespace sailor
