#include "cli/live_cluster.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/compute_capability.h"
#include "operator/kube/time.h"
#include "operator/model/claims.h"
#include "operator/model/observation.h"
#include "operator/model/record_object.h"
#include "operator/model/unused_pools.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor::cli {
namespace {

using Objects = std::vector<kube::Object>;

// The chart's Deployment of the operator, and its ConfigMap with the value networkModel.
constexpr const char* kOperatorSelector =
    "--selector=app.kubernetes.io/part-of=sailor,app.kubernetes.io/component=operator";
constexpr const char* kNetworkModelKey = "network-model.yaml";

bool is_forbidden(const Error& error) { return error.code == ErrorCode::kForbidden; }

// Returns what kubectl finds. If the user may not list such objects, returns none and adds a note with the consequence.
Result<Objects> get_if_allowed(const Kubectl& kubectl, const std::vector<std::string>& what,
                               const std::string& consequence, std::vector<std::string>& notes) {
  auto found = kubectl.get(what);
  if (found || !is_forbidden(found.error())) return found;
  notes.push_back(fmt::format("you may not list {}, so {}", what.front(), consequence));
  return Objects();
}

// Likewise for the objects of all namespaces, or only those of one if the user may not list the others.
Result<Objects> get_of_all_namespaces(const Kubectl& kubectl, const std::string& kind, const std::string& consequence,
                                      std::vector<std::string>& notes) {
  auto found = kubectl.get({kind, "--all-namespaces"});
  if (found || !is_forbidden(found.error())) return found;
  notes.push_back(fmt::format("you may not list the {} of other namespaces, so {}", kind, consequence));
  return get_if_allowed(kubectl, {kind}, consequence, notes);
}

ProfileBook profiles_of(const std::vector<kube::Object>& objects, std::vector<std::string>& notes) {
  ProfileBook profiles;
  for (const kube::Object& object : objects) {
    if (auto profile = profile_from_manifest(*object)) {
      profiles.add(*std::move(profile));
    } else {
      notes.push_back(fmt::format("ModelProfile {} is ignored: {}", kube::name_of(*object), profile.error().message));
    }
  }
  return profiles;
}

using Records = std::map<std::string, GenerationRecord>;  // by the UID of the job

// Adds what the operator has recorded of all jobs. As in the operator, a record that cannot be read claims nothing.
Records add_records(const Objects& jobs, const Objects& job_records, ClusterObjects& objects) {
  std::map<JobKey, kube::Object> job_of_key;
  for (const kube::Object& job : jobs) job_of_key[kube::key_of(*job)] = job;
  Records records;
  for (const kube::Object& object : job_records) {
    const auto job = job_of_key.find(kube::key_of(*object));
    if (job == job_of_key.end()) continue;
    const std::string uid = kube::uid_of(*job->second);
    auto record = record_of(*object);
    if (!record || record->job_uid != uid || kube::controller_uid(*object) != uid) continue;
    if (may_use_gpus(*job->second)) add_record(*record, objects);
    records.emplace(uid, *std::move(record));
  }
  return records;
}

Result<Records> read_records(const Kubectl& kubectl, ClusterObjects& objects, std::vector<std::string>& notes) {
  const std::string consequence =
      "GPUs that a job has chosen, but whose pods do not exist yet, count as free, and slow GPUs as fast";
  const auto job_records = get_of_all_namespaces(kubectl, "jobrecords.sailor.dev", consequence, notes);
  if (!job_records) return tl::unexpected(job_records.error());
  if (job_records->empty()) return Records();
  const auto jobs = get_of_all_namespaces(kubectl, "trainingjobs.sailor.dev", consequence, notes);
  if (!jobs) return tl::unexpected(jobs.error());
  return add_records(*jobs, *job_records, objects);
}

// Returns for which GPUs the trainer's image has kernels, as the arguments of the operator say.
Result<ComputeCapability> read_least_capability(const Kubectl& kubectl, std::vector<std::string>& notes) {
  const auto operators = get_if_allowed(
      kubectl, {"deployments.apps", "--all-namespaces", kOperatorSelector},
      fmt::format("a trainer's image is assumed that has kernels for GPUs of compute capability {} and newer",
                  to_string(kLeastComputeCapability)),
      notes);
  if (!operators) return tl::unexpected(operators.error());
  constexpr std::string_view kFlag = "--min-compute-capability=";
  for (const kube::Object& deployment : *operators) {
    for (const kube::Json& container : kube::list_at(*deployment, {"spec", "template", "spec", "containers"})) {
      for (const kube::Json& argument : kube::list_at(container, {"args"})) {
        const std::string text = argument.is_string() ? argument.get<std::string>() : "";
        if (text.starts_with(kFlag)) return parse_compute_capability(text.substr(kFlag.size()));
      }
    }
  }
  return kLeastComputeCapability;
}

// Returns the network model of the operator: the chart's value networkModel, or Google Cloud's figures.
Result<NetworkModel> read_network(const Kubectl& kubectl, std::vector<std::string>& notes) {
  const auto maps = get_if_allowed(kubectl, {"configmaps", "--all-namespaces", kOperatorSelector},
                                   "the network of Google Cloud is assumed, although the operator may have another "
                                   "networkModel",
                                   notes);
  if (!maps) return tl::unexpected(maps.error());
  std::vector<kube::Object> models;
  std::ranges::copy_if(*maps, std::back_inserter(models), [](const kube::Object& map) {
    return kube::find_at(*map, {"data", kNetworkModelKey}) != nullptr;
  });
  if (models.empty()) return google_cloud_network();
  const kube::Json& map = *models.front();
  const std::string name = "ConfigMap " + to_string(kube::key_of(map));
  if (models.size() > 1) notes.push_back("several operators have a network model; that of " + name + " is used");
  const auto documents = parse_documents(kube::text_at(map, {"data", kNetworkModelKey}), name);
  if (!documents) return tl::unexpected(documents.error());
  if (documents->empty()) return google_cloud_network();
  auto network = network_from_manifest(documents->front().value);
  if (!network) return tl::unexpected(documents->front().located(network.error()));
  return network;
}

// Returns the UID of the job in the cluster, or "" if it does not exist yet.
Result<std::string> uid_of_job(const Kubectl& kubectl, const JobSpec& job) {
  const auto found = kubectl.get({"trainingjobs.sailor.dev", job.key.name});
  if (found) return kube::uid_of(*found->front());
  return found.error().code == ErrorCode::kNotFound ? Result<std::string>("") : tl::unexpected(found.error());
}

}  // namespace

Result<LiveCluster> read_live_cluster(const KubectlOptions& options, const JobSpec& job,
                                      const SourceDocument& job_document) {
  KubectlOptions of_job = options;
  if (of_job.name_space.empty()) of_job.name_space = kube::text_at(job_document.value, {"metadata", "namespace"});
  const Kubectl kubectl(of_job);
  LiveCluster live;
  ClusterObjects objects;
  auto nodes = kubectl.get({"nodes"});
  if (!nodes) return tl::unexpected(nodes.error());
  objects.nodes = *std::move(nodes);
  auto pools = kubectl.get({"gpupools.sailor.dev"});
  if (!pools) return tl::unexpected(pools.error());
  objects.gpu_pools = *std::move(pools);
  auto pods = get_of_all_namespaces(kubectl, "pods", "the GPUs that they use count as free", live.notes);
  if (!pods) return tl::unexpected(pods.error());
  objects.pods = *std::move(pods);
  std::erase_if(objects.pods, [](const kube::Object& pod) { return gpus_of_pod(*pod) == 0; });
  auto records = read_records(kubectl, objects, live.notes);
  if (!records) return tl::unexpected(records.error());
  const auto least_capability = read_least_capability(kubectl, live.notes);
  if (!least_capability) return tl::unexpected(least_capability.error());
  objects.least_capability = *least_capability;
  auto network = read_network(kubectl, live.notes);
  if (!network) return tl::unexpected(network.error());
  live.network = *std::move(network);
  const auto profiles =
      get_if_allowed(kubectl, {"modelprofiles.sailor.dev"}, "times are computed from data sheets", live.notes);
  if (!profiles) return tl::unexpected(profiles.error());
  live.profiles = profiles_of(*profiles, live.notes);
  auto uid = uid_of_job(kubectl, job);
  if (!uid) return tl::unexpected(uid.error());

  Observation observation;
  observation.job.key = job.key;
  observation.now = system_time();
  observation.job.uid = *uid;
  if (const auto record = records->find(*uid); record != records->end())
    observation.record = std::move(record->second);  // it knows the slow GPUs and the quarantined nodes
  observation.job.spec = job;
  observation.job.pod_template = job_document.value.at("spec").value("podTemplate", nlohmann::json());
  observation.cluster = std::make_shared<const ClusterView>(cluster_view(objects));
  live.existing = cluster_of(usable_nodes(observation, {.scope = NodeScope::kExisting}), *observation.cluster);
  live.growable = cluster_of(usable_nodes(observation, {.scope = NodeScope::kGrowable}), *observation.cluster);
  for (const auto& [pool, refusal] : observation.cluster->refusals) {
    if (refusal.holds(observation.now))
      live.notes.push_back(fmt::format("{} has given no node, and is not asked for one before {}: {}", to_string(pool),
                                       to_rfc3339(refusal.until), refusal.message));
  }
  JobStatus status;
  set_unused_pools(status, job, *observation.cluster);
  for (const UnusedPool& unused : unused_pools(status)) live.notes.push_back(warning_about(unused));
  return live;
}

}  // namespace sailor::cli
