#include "operator/reconcile/leftovers.h"

#include <fmt/format.h>

#include "operator/kube/resource.h"
#include "operator/model/changes.h"
#include "operator/model/names.h"
#include "operator/model/orphan.h"
#include "operator/model/workload.h"

namespace sailor {

std::vector<Leftovers::Leftover> Leftovers::find(const JobKey& key) const {
  const kube::Object job = caches_.jobs.find(key);
  const std::string present = job == nullptr ? "" : kube::uid_of(*job);
  std::vector<Leftover> leftovers;
  const std::scoped_lock lock(mutex_);
  const auto add = [&](const kube::Resource& resource, kube::Object object, const std::string& job_uid) {
    if (job_uid != present && !deleted_.contains(kube::uid_of(*object)))
      leftovers.push_back({resource, std::move(object), job_uid});
  };
  for (kube::Object& pod : caches_.pods.tagged(job_tag(key))) {
    const std::string job_uid = kube::label_of(*pod, kJobUidLabel);
    const bool is_ours = !job_uid.empty() && !kube::annotation_of(*pod, kCreatedForAnnotation).empty();
    const bool is_left = is_orphan(*pod) || (is_of_a_job(*pod) && kube::controller_uid(*pod) == job_uid);
    if (is_ours && is_left) add(kube::kPods, std::move(pod), job_uid);
  }
  if (kube::Object record = caches_.records.find(key); record != nullptr && is_orphan(*record)) {
    const std::string job_uid = kube::text_at(*record, {"spec", "jobUid"});
    add(kube::kJobRecords, std::move(record), job_uid);
  }
  for (kube::Object& workload : caches_.workloads.tagged(job_tag(key))) {
    if (!is_orphan(*workload)) continue;
    const std::string job_uid = kube::label_of(*workload, kKueueJobLabel);
    const std::string version = kube::text_at(*workload, {"apiVersion"});
    add(kube::workloads(version.substr(version.rfind('/') + 1)), std::move(workload), job_uid);
  }
  return leftovers;
}

// Only an owner has the whole name of the job. For an object without one, all jobs of the namespace are read.
kube::ApiResult<std::set<std::string>> Leftovers::existing_jobs(const std::vector<Leftover>& leftovers) {
  std::set<std::string> uids;
  std::set<JobKey> asked;
  for (const Leftover& leftover : leftovers) {
    const auto owner = owner_of(*leftover.object);
    if (!owner) {
      const auto jobs = api_.list(kube::kTrainingJobs, {kube::namespace_of(*leftover.object), "", ""});
      if (!jobs) return tl::unexpected(jobs.error());
      for (const kube::Json& job : jobs->items) uids.insert(kube::uid_of(job));
      return uids;
    }
    if (!asked.insert(*owner).second) continue;
    const auto job = api_.get(kube::kTrainingJobs, *owner);
    if (job) uids.insert(kube::uid_of(*job));
    if (!job && !job.error().is_not_found()) return tl::unexpected(job.error());
  }
  return uids;
}

// The operator may not read these objects; only those of this job can have these names.
kube::ApiResult<void> Leftovers::remove_job_security(const JobKey& job, const std::string& job_uid) {
  auto removed = api_.remove(kube::kSecrets, {job.namespace_name, credentials_name(job.name, job_uid)}, "");
  if (!removed) return removed;
  return api_.remove(kube::kNetworkPolicies, {job.namespace_name, network_policy_name(job.name, job_uid)}, "");
}

kube::ApiResult<std::vector<std::string>> Leftovers::remove(const JobKey& key) {
  std::vector<std::string> deleted;
  const std::vector<Leftover> leftovers = find(key);
  if (leftovers.empty()) return deleted;
  const auto existing = existing_jobs(leftovers);
  if (!existing) return tl::unexpected(existing.error());
  std::set<std::string> unsecured;  // UIDs of jobs
  for (const auto& [resource, object, job_uid] : leftovers) {
    if (existing->contains(job_uid)) continue;
    if (is_orphan(*object) && unsecured.insert(job_uid).second) {
      if (auto removed = remove_job_security(key, job_uid); !removed) return tl::unexpected(removed.error());
    }
    const JobKey name = kube::key_of(*object);
    const std::string uid = kube::uid_of(*object);
    auto removed = api_.remove(resource, name, uid);
    if (!removed) return tl::unexpected(std::move(removed).error());
    {
      const std::scoped_lock lock(mutex_);
      deleted_.insert(uid);
    }
    deleted.push_back(fmt::format("{} {}", resource.kind, to_string(name)));
  }
  return deleted;
}

}  // namespace sailor
