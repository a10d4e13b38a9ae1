#include "operator/reconcile/observe/observer.h"

#include <algorithm>

#include "operator/model/job_status.h"
#include "operator/model/names.h"
#include "operator/reconcile/observe/pod_view.h"

namespace sailor {
namespace {

using kube::Json;

JobView job_view(const Json& object, const ObserverSources& sources) {
  JobView view;
  view.key = kube::key_of(object);
  view.uid = kube::uid_of(object);
  view.spec_generation = kube::integer_at(object, {"metadata", "generation"});
  view.is_deleting = kube::is_deleting(object);
  view.created = parse_rfc3339(kube::text_at(object, {"metadata", "creationTimestamp"})).value_or(Time());
  view.spec = sources.read_job(object);
  if (const Json* pod_template = kube::find_at(object, {"spec", "podTemplate"})) view.pod_template = *pod_template;
  if (const Json* status = kube::find_at(object, {"status"})) view.status = job_status_from_json(*status);
  return view;
}

// Returns whether the record of a job may claim GPUs: the job exists, has not ended and is not suspended.
bool may_claim(const kube::Object& job) {
  if (job == nullptr || kube::is_deleting(*job) || kube::bool_at(*job, {"spec", "suspend"})) return false;
  const Json* status = kube::find_at(*job, {"status"});
  return status == nullptr || !job_status_from_json(*status).has_ended();
}

// Returns the GPUs of all placements whose pods may not exist yet.
std::vector<Claim> claims_of(const std::vector<kube::Object>& records, const kube::Store& jobs) {
  std::vector<Claim> claims;
  for (const kube::Object& object : records) {
    const auto record = record_of(*object);
    if (!record || record->is_committed()) continue;  // the pods of a committed generation exist and are counted
    const Json& owners = kube::list_at(*object, {"metadata", "ownerReferences"});
    const std::string owner = owners.empty() ? "" : kube::text_at(owners.front(), {"name"});
    if (!may_claim(jobs.find({kube::namespace_of(*object), owner}))) continue;
    for (const Slot& slot : record->placement.slots) claims.push_back({record->job_uid, slot.node, slot.gpus});
  }
  return claims;
}

}  // namespace

ClusterView Observer::cluster() const {
  ClusterObjects objects;
  objects.nodes = caches_.nodes.all();
  objects.gpu_pools = caches_.pools.all();
  objects.pods = caches_.pods.all();
  for (kube::Object& pod : caches_.foreign_pods.all()) objects.pods.push_back(std::move(pod));
  objects.claims = claims_of(caches_.records.all(), caches_.jobs);
  ClusterView view = cluster_view(objects);
  notices_.complete(view, sources_.clock());
  return view;
}

// Ignores the ConfigMap of an earlier job of the same name, which the garbage collector is about to remove.
kube::Object Observer::record_config_map(const JobKey& key, const std::string& job_uid) const {
  kube::Object map = caches_.records.find({key.namespace_name, record_name(key.name)});
  return map == nullptr || kube::controller_uid(*map) != job_uid ? nullptr : map;
}

Result<GenerationRecord> Observer::record(const JobKey& key, const std::string& job_uid) const {
  const kube::Object map = record_config_map(key, job_uid);
  if (map == nullptr) return fail(ErrorCode::kNotFound, "job " + to_string(key) + " has no record");
  return record_of(*map);
}

void Observer::read_record(Observation& observation) const {
  const kube::Object map = record_config_map(observation.job.key, observation.job.uid);
  if (map == nullptr) return;
  observation.record_version = kube::version_of(*map);
  auto record = record_of(*map);
  if (record) {
    observation.record = std::move(*record);
  } else {
    observation.record_error = record.error().message;
  }
}

std::optional<Observation> Observer::observe(const JobKey& key) const {
  const kube::Object object = caches_.jobs.find(key);
  if (object == nullptr) return std::nullopt;
  Observation observation;
  observation.now = sources_.clock();
  observation.settings = settings_;
  observation.job = job_view(*object, sources_);
  read_record(observation);
  const std::string label = short_job_name(key.name);
  for (const kube::Object& pod : caches_.pods.all()) {
    if (kube::namespace_of(*pod) != key.namespace_name || kube::label_of(*pod, kJobNameLabel) != label) continue;
    observation.pods.push_back(pod_view(*pod, observation.job.uid));
  }
  observation.agents = sources_.agents(key);
  observation.cluster = cluster();
  observation.profiles = sources_.profiles();
  observation.answers = sources_.answers(key);
  return observation;
}

}  // namespace sailor
