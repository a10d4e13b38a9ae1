#include "operator/self_check.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "operator/agents/credential_issuer.h"
#include "operator/leader/leader_election.h"

namespace sailor {
namespace {

using kube::Json;
using kube::Resource;

constexpr std::chrono::milliseconds kLookAtLease{1000};
constexpr const char* kGrant = "install the chart with rbac.create=true, or grant what its templates/rbac.yaml grants";

const Resource kAccessReviews{"authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false};

// "apps"; empty: the core group.
std::string group_of(const Resource& resource) {
  const auto slash = resource.group_version.find('/');
  return slash == std::string::npos ? "" : resource.group_version.substr(0, slash);
}

std::string name_in_group(const Resource& resource) {
  const std::string group = group_of(resource);
  return group.empty() ? resource.plural : fmt::format("{}.{}", resource.plural, group);
}

std::string remedy_for(const kube::ApiError& error, const Resource& resource) {
  if (error.is_not_found() && resource.group_version.starts_with("kueue."))
    return "install Kueue, or set kueue.enabled=false";
  if (error.is_not_found()) return "install the CRDs with crds.enabled=true, or kubectl apply -f crds/";
  if (error.status == 403) return kGrant;
  return "see whether the API server is reachable from this pod";
}

std::string in_namespace(const std::string& namespace_name) {
  return namespace_name.empty() ? "" : " in namespace " + namespace_name;
}

// Asks for an object that does not exist, so that the answer is small.
CheckLine check_list(kube::Api& api, const Resource& resource, const std::string& namespace_name) {
  const std::string what = "lists " + name_in_group(resource) + in_namespace(namespace_name);
  const auto list = api.list(resource, {namespace_name, "", "metadata.name=sailor-check"});
  if (list) return {true, what};
  return {false, fmt::format("{}: {}; {}", what, list.error().message, remedy_for(list.error(), resource))};
}

struct Right {
  const char* verb;
  const Resource* resource;
  const char* subresource = "";
  const char* name = "";  // of the object; empty: of any
};

CheckLine check_right(kube::Api& api, const Right& right, const std::string& namespace_name) {
  const auto after = [](const char* separator, const char* part) {
    return *part == '\0' ? "" : std::string(separator) + part;
  };
  const std::string what =
      fmt::format("may {} {}{}{}{}", right.verb, name_in_group(*right.resource), after("/", right.subresource),
                  after(" ", right.name), in_namespace(namespace_name));
  const Json review = {{"apiVersion", kAccessReviews.group_version},
                       {"kind", kAccessReviews.kind},
                       {"spec",
                        {{"resourceAttributes",
                          {{"verb", right.verb},
                           {"group", group_of(*right.resource)},
                           {"resource", right.resource->plural},
                           {"subresource", right.subresource},
                           {"name", right.name},
                           {"namespace", namespace_name}}}}}};
  const auto answer = api.create(kAccessReviews, review);
  if (!answer) return {false, fmt::format("{}: {}", what, answer.error().message)};
  if (kube::bool_at(*answer, {"status", "allowed"})) return {true, what};
  return {false, fmt::format("{}: it is not allowed; {}", what, kGrant)};
}

void check_kueue(kube::Api& api, const OperatorOptions& options, std::vector<CheckLine>& lines) {
  const std::string& version = options.kueue_version;
  const auto namespaces = options.namespaces.empty() ? std::vector<std::string>{""} : options.namespaces;
  const Resource workloads = kube::workloads(version);
  for (const Resource& resource : {kube::resource_flavors(version), kube::workload_priority_classes(version)})
    lines.push_back(check_list(api, resource, ""));
  for (const std::string& name : namespaces) {
    lines.push_back(check_list(api, workloads, name));
    for (const char* verb : {"create", "update", "delete"}) lines.push_back(check_right(api, {verb, &workloads}, name));
    lines.push_back(check_right(api, {"update", &workloads, "status"}, name));
  }
}

CheckLine check_secret(kube::Api& api, const JobKey& secret, std::string_view content) {
  const std::string what = fmt::format("reads {} (Secret {})", content, secret.name);
  const auto found = api.get(kube::kSecrets, secret);
  if (found) return {true, what};
  const char* remedy = found.error().is_not_found() ? "the operator makes it when it starts; see its logs" : kGrant;
  return {false, fmt::format("{}: {}; {}", what, found.error().message, remedy)};
}

void check_authority(kube::Api& api, const JobKey& ca, std::vector<CheckLine>& lines) {
  const JobKey identity = identity_secret(ca);
  lines.push_back(check_secret(api, ca, "the CA of the agents"));
  lines.push_back(check_secret(api, identity, "the operator's own certificate"));
  lines.push_back(check_right(api, {"create", &kube::kSecrets}, ca.namespace_name));
  lines.push_back(check_right(api, {"update", &kube::kSecrets, "", identity.name.c_str()}, ca.namespace_name));
}

CheckLine check_leader(kube::Api& api, const OperatorOptions& options,
                       const std::function<void(std::chrono::milliseconds)>& sleep) {
  const std::string what = fmt::format("an operator leads (Lease {})", options.lease_name);
  std::string holder;
  std::string first_version;
  for (std::chrono::milliseconds waited{0}; waited <= LeaseSettings{}.duration; waited += kLookAtLease) {
    if (waited.count() > 0) sleep(kLookAtLease);
    const auto lease = api.get(kube::kLeases, {options.cluster.namespace_name, options.lease_name});
    if (!lease && !lease.error().is_not_found()) return {false, fmt::format("{}: {}", what, lease.error().message)};
    if (!lease) continue;
    holder = kube::text_at(*lease, {"spec", "holderIdentity"});
    if (first_version.empty()) first_version = kube::version_of(*lease);
    if (!holder.empty() && kube::version_of(*lease) != first_version)
      return {true, fmt::format("{}: {}", what, holder)};
  }
  const std::string why =
      holder.empty() ? "nobody holds the Lease" : fmt::format("{} does not renew the Lease", holder);
  return {false, fmt::format("{}: {}; see the logs of the operator's pods", what, why)};
}

// What the operator must see and may do where it runs jobs; empty: everywhere.
void check_namespace(kube::Api& api, const std::string& namespace_name, std::vector<CheckLine>& lines) {
  for (const Resource* resource : {&kube::kTrainingJobs, &kube::kJobRecords, &kube::kConfigMaps, &kube::kCoreEvents})
    lines.push_back(check_list(api, *resource, namespace_name));
  constexpr std::array<Right, 17> kRights = {{{"create", &kube::kPods},
                                              {"delete", &kube::kPods},
                                              {"delete", &kube::kJobRecords},
                                              {"create", &kube::kJobRecords},
                                              {"patch", &kube::kJobRecords},
                                              {"create", &kube::kConfigMaps},
                                              {"patch", &kube::kConfigMaps},
                                              {"patch", &kube::kTrainingJobs, "status"},
                                              {"update", &kube::kTrainingJobs, "finalizers"},
                                              {"delete", &kube::kTrainingJobs},
                                              {"create", &kube::kEvents},
                                              {"create", &kube::kSecrets},
                                              {"patch", &kube::kSecrets},
                                              {"delete", &kube::kSecrets},
                                              {"create", &kube::kNetworkPolicies},
                                              {"patch", &kube::kNetworkPolicies},
                                              {"delete", &kube::kNetworkPolicies}}};
  for (const Right& right : kRights) lines.push_back(check_right(api, right, namespace_name));
}

}  // namespace

std::vector<CheckLine> check_installation(kube::Api& api, const OperatorOptions& options,
                                          const std::function<void(std::chrono::milliseconds)>& sleep) {
  std::vector<CheckLine> lines;
  for (const Resource* resource :
       {&kube::kPods, &kube::kNodes, &kube::kGpuPools, &kube::kModelProfiles, &kube::kPriorityClasses})
    lines.push_back(check_list(api, *resource, ""));
  for (const std::string& name : options.namespaces) check_namespace(api, name, lines);
  if (options.namespaces.empty()) {
    check_namespace(api, "", lines);
    lines.push_back(check_right(api, {"patch", &kube::kGpuPools, "status"}, ""));
  }
  if (!options.kueue_version.empty()) check_kueue(api, options, lines);
  check_authority(api, {options.cluster.namespace_name, options.ca_secret}, lines);
  if (!options.elects_leader) return lines;
  for (const char* verb : {"create", "update"})
    lines.push_back(check_right(api, {verb, &kube::kLeases}, options.cluster.namespace_name));
  lines.push_back(check_leader(api, options, sleep));
  return lines;
}

}  // namespace sailor
