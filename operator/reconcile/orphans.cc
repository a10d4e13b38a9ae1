#include "operator/reconcile/orphans.h"

#include <fmt/format.h>

#include "operator/kube/resource.h"
#include "operator/model/names.h"
#include "operator/model/orphan.h"
#include "operator/model/workload.h"

namespace sailor {

std::vector<Orphans::Orphan> Orphans::find(const JobKey& key) const {
  const kube::Object job = caches_.jobs.find(key);
  const std::string present = job == nullptr ? "" : kube::uid_of(*job);
  std::vector<Orphan> orphans;
  const std::scoped_lock lock(mutex_);
  const auto add_if_left = [&](const kube::Resource& resource, kube::Object object, const std::string& job_uid) {
    const bool is_left = is_orphan(*object) && job_uid != present && !deleted_.contains(kube::uid_of(*object));
    if (is_left) orphans.push_back({resource, std::move(object), job_uid});
  };
  for (kube::Object& pod : caches_.pods.tagged(job_tag(key))) {
    const std::string job_uid = kube::label_of(*pod, kJobUidLabel);
    const bool is_ours = !job_uid.empty() && !kube::annotation_of(*pod, kCreatedForAnnotation).empty();
    if (is_ours) add_if_left(kube::kPods, std::move(pod), job_uid);
  }
  if (kube::Object record = caches_.records.find(key); record != nullptr) {
    const std::string job_uid = kube::text_at(*record, {"spec", "jobUid"});
    add_if_left(kube::kJobRecords, std::move(record), job_uid);
  }
  for (kube::Object& workload : caches_.workloads.tagged(job_tag(key))) {
    const std::string job_uid = kube::label_of(*workload, kKueueJobLabel);
    const std::string version = kube::text_at(*workload, {"apiVersion"});
    add_if_left(kube::workloads(version.substr(version.rfind('/') + 1)), std::move(workload), job_uid);
  }
  return orphans;
}

// The operator may not read these objects; only those of this job can have these names.
kube::ApiResult<void> Orphans::remove_job_security(const JobKey& job, const std::string& job_uid) {
  auto removed = api_.remove(kube::kSecrets, {job.namespace_name, credentials_name(job.name, job_uid)}, "");
  if (!removed) return removed;
  return api_.remove(kube::kNetworkPolicies, {job.namespace_name, network_policy_name(job.name, job_uid)}, "");
}

kube::ApiResult<std::vector<std::string>> Orphans::remove(const JobKey& key) {
  std::vector<std::string> deleted;
  const std::vector<Orphan> orphans = find(key);
  if (orphans.empty()) return deleted;
  const auto jobs = api_.list(kube::kTrainingJobs, {key.namespace_name, "", ""});
  if (!jobs) return tl::unexpected(jobs.error());
  std::set<std::string> existing;
  for (const kube::Json& job : jobs->items) existing.insert(kube::uid_of(job));
  std::set<std::string> unsecured;  // UIDs of jobs
  for (const Orphan& orphan : orphans) {
    if (existing.contains(orphan.job_uid)) continue;
    if (unsecured.insert(orphan.job_uid).second) {
      if (auto removed = remove_job_security(key, orphan.job_uid); !removed) return tl::unexpected(removed.error());
    }
    const JobKey name = kube::key_of(*orphan.object);
    const std::string uid = kube::uid_of(*orphan.object);
    auto removed = api_.remove(orphan.resource, name, uid);
    if (!removed) return tl::unexpected(std::move(removed).error());
    {
      const std::scoped_lock lock(mutex_);
      deleted_.insert(uid);
    }
    deleted.push_back(fmt::format("{} {}", orphan.resource.kind, to_string(name)));
  }
  return deleted;
}

}  // namespace sailor
