#include "cli/live_cluster.h"

#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "operator/model/observation.h"
#include "operator/model/unused_pools.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor::cli {
namespace {

bool is_forbidden(const Error& error) { return error.code == ErrorCode::kForbidden; }

// Returns the pods of all namespaces, or only those of one if the user may not list the others.
Result<std::vector<kube::Object>> read_pods(const Kubectl& kubectl, std::vector<std::string>& notes) {
  auto pods = kubectl.get({"pods", "--all-namespaces"});
  if (pods || !is_forbidden(pods.error())) return pods;
  notes.emplace_back("you may not list the pods of other namespaces, so the GPUs that they use count as free");
  return kubectl.get({"pods"});
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
  for (const auto& [kind, list] :
       {std::pair{"nodes", &objects.nodes}, std::pair{"gpupools.sailor.dev", &objects.gpu_pools}}) {
    auto found = kubectl.get({kind});
    if (!found) return tl::unexpected(found.error());
    *list = *std::move(found);
  }
  auto pods = read_pods(kubectl, live.notes);
  if (!pods) return tl::unexpected(pods.error());
  objects.pods = *std::move(pods);
  std::erase_if(objects.pods, [](const kube::Object& pod) { return gpus_of_pod(*pod) == 0; });
  const auto profiles = kubectl.get({"modelprofiles.sailor.dev"});
  if (!profiles) return tl::unexpected(profiles.error());
  live.profiles = profiles_of(*profiles, live.notes);
  auto uid = uid_of_job(kubectl, job);
  if (!uid) return tl::unexpected(uid.error());

  Observation observation;
  observation.job.key = job.key;
  observation.job.uid = *std::move(uid);
  observation.job.spec = job;
  observation.job.pod_template = job_document.value.at("spec").value("podTemplate", nlohmann::json());
  observation.cluster = cluster_view(objects);
  live.existing = cluster_of(usable_nodes(observation, {.scope = NodeScope::kExisting}), observation.cluster);
  live.growable = cluster_of(usable_nodes(observation, {.scope = NodeScope::kGrowable}), observation.cluster);
  JobStatus status;
  set_unused_pools(status, job, observation.cluster);
  for (const UnusedPool& unused : unused_pools(status)) live.notes.push_back(warning_about(unused));
  return live;
}

}  // namespace sailor::cli
