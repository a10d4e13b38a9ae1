#include "operator/kube/resource.h"

#include <fmt/format.h>

namespace sailor::kube {
namespace {

std::string kueue(const std::string& version) { return "kueue.x-k8s.io/" + version; }

}  // namespace

const Resource kTrainingJobs{"sailor.dev/v1alpha1", "TrainingJob", "trainingjobs", true};
const Resource kGpuPools{"sailor.dev/v1alpha1", "GpuPool", "gpupools", false};
const Resource kModelProfiles{"sailor.dev/v1alpha1", "ModelProfile", "modelprofiles", false};
const Resource kJobRecords{"sailor.dev/v1alpha1", "JobRecord", "jobrecords", true};
const Resource kPods{"v1", "Pod", "pods", true};
const Resource kNodes{"v1", "Node", "nodes", false};
const Resource kPriorityClasses{"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false};
const Resource kConfigMaps{"v1", "ConfigMap", "configmaps", true};
const Resource kEvents{"events.k8s.io/v1", "Event", "events", true};
const Resource kCoreEvents{"v1", "Event", "events", true};
const Resource kLeases{"coordination.k8s.io/v1", "Lease", "leases", true};
const Resource kSecrets{"v1", "Secret", "secrets", true};
const Resource kNetworkPolicies{"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true};

Resource workloads(const std::string& version) { return {kueue(version), "Workload", "workloads", true}; }

Resource resource_flavors(const std::string& version) {
  return {kueue(version), "ResourceFlavor", "resourceflavors", false};
}

Resource workload_priority_classes(const std::string& version) {
  return {kueue(version), "WorkloadPriorityClass", "workloadpriorityclasses", false};
}

std::string collection_path(const Resource& resource, const std::string& namespace_name) {
  const bool is_core = resource.group_version.find('/') == std::string::npos;
  const std::string root = fmt::format("/{}/{}", is_core ? "api" : "apis", resource.group_version);
  if (!resource.namespaced || namespace_name.empty()) return fmt::format("{}/{}", root, resource.plural);
  return fmt::format("{}/namespaces/{}/{}", root, namespace_name, resource.plural);
}

std::string object_path(const Resource& resource, const std::string& namespace_name, const std::string& name) {
  return fmt::format("{}/{}", collection_path(resource, namespace_name), name);
}

}  // namespace sailor::kube
