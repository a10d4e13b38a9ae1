#include "operator/kube/remedy.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sailor::kube {
namespace {

struct Remedy {
  std::string_view words;  // a part of the server's message
  std::string_view remedy;
};

// The first entry whose words occur counts. The messages are those of Kubernetes' admission plugins.
constexpr std::array<Remedy, 14> kRemedies = {{
    {"violates PodSecurity",
     "Change spec.podTemplate so that it meets the level that the namespace enforces, or change the namespace's label "
     "pod-security.kubernetes.io/enforce."},
    {"exceeded quota",
     "Raise the namespace's ResourceQuota, delete something that uses it, or lower spec.resources.maxGpus or the "
     "requests in spec.podTemplate."},
    {"failed quota", "Set the requests and limits that the namespace's ResourceQuota asks for in spec.podTemplate."},
    {"failed calling webhook", "Repair the admission webhook that does not answer, or ask an administrator to do it."},
    {"admission webhook", "Change spec.podTemplate as the admission webhook demands, or change its policy."},
    {"ValidatingAdmissionPolicy", "Change spec.podTemplate as the admission policy demands, or change the policy."},
    {"is being terminated", "The namespace is being deleted. Create the job in another namespace."},
    {"error looking up service account", "Create the ServiceAccount, or name another one in spec.podTemplate."},
    {"no PriorityClass", "Create the PriorityClass, or name another one in spec.podTemplate."},
    {"usage per", "Change the requests and limits in spec.podTemplate, or change the namespace's LimitRange."},
    {"cannot create resource",
     "Allow the operator's service account to create pods; the chart's ClusterRole or Role does so."},
    {"cannot patch resource",
     "Allow the operator's service account to do this; the chart's ClusterRole or Role does so."},
    {"strict decoding error", "Remove the unknown or repeated field from spec.podTemplate."},
    {"is invalid", "Correct spec.podTemplate."},
}};

}  // namespace

std::string remedy_for_pod(const ApiError& refusal) {
  const auto* found = std::ranges::find_if(
      kRemedies, [&](const Remedy& entry) { return refusal.server_message.find(entry.words) != std::string::npos; });
  if (found != kRemedies.end()) return std::string(found->remedy);
  return "Change spec.podTemplate, or ask an administrator of the cluster.";
}

}  // namespace sailor::kube
