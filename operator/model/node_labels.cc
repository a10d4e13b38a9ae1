#include "operator/model/node_labels.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/model/accelerator.h"
#include "core/model/parse_number.h"

namespace sailor {
namespace {

using kube::Json;

constexpr const char* kRegionLabel = "topology.kubernetes.io/region";
constexpr const char* kUninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized";
constexpr std::string_view kProviderOfGoogle = "gce://";
constexpr const char* kZoneOutsideOfClouds = "default";

// In the order in which they count: the name that the owner of the cluster gives, then the most exact one.
constexpr std::array<const char*, 5> kAcceleratorLabels = {
    kAcceleratorLabel,                       //
    kGkeAcceleratorLabel,                    //
    "nvidia.com/gpu.product",                // GPU feature discovery, a part of NVIDIA's GPU operator
    "karpenter.k8s.aws/instance-gpu-name",   //
    "eks.amazonaws.com/instance-gpu-name"};  // EKS Auto Mode

// The memory of one GPU, in MiB. Amazon's names do not tell an A100 with 40 GB from one with 80 GB.
constexpr std::array<const char*, 2> kMemoryLabels = {"karpenter.k8s.aws/instance-gpu-memory",
                                                      "eks.amazonaws.com/instance-gpu-memory"};

struct LabelValue {
  const char* label;
  std::string_view value;
};
constexpr std::array<LabelValue, 5> kSpotLabels = {{{kGkeSpotLabel, "true"},
                                                    {"cloud.google.com/gke-preemptible", "true"},
                                                    {"eks.amazonaws.com/capacityType", "SPOT"},
                                                    {"karpenter.sh/capacity-type", "spot"},
                                                    {kAksPriorityLabel, "spot"}}};

constexpr std::array<std::string_view, 8> kTerminationTaints = {
    "cloud.google.com/impending-node-termination",
    "aws-node-termination-handler/spot-itn",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "remediator.kubernetes.azure.com/unschedulable",
    "remediator.aks.microsoft.com/unschedulable",  // its name in older versions of AKS
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",  // its name before version 1
    kAutoscalerTaint};

std::string first_label(const Json& node, const auto& labels) {
  for (const char* label : labels) {
    if (std::string value = kube::label_of(node, label); !value.empty()) return value;
  }
  return {};
}

bool is_large_a100(const Json& node, std::string_view name) {
  constexpr int kBetweenTheTwo = 60'000;
  return name == "a100" && parse_number<int>(first_label(node, kMemoryLabels)).value_or(0) > kBetweenTheTwo;
}

// Returns the text in the form of the names of Kubernetes objects: lower case, and dashes for what they cannot have.
std::string as_name(std::string text) {
  for (char& letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    letter = std::isalnum(code) != 0 ? static_cast<char>(std::tolower(code)) : '-';
  }
  return text;
}

Accelerator accelerator_of(const Json& node) {
  const std::string name = first_label(node, kAcceleratorLabels);
  if (is_large_a100(node, name)) return Accelerator("nvidia-a100-80gb");
  const AcceleratorSpec* known = accelerator_of_label(name);
  return known == nullptr ? Accelerator(as_name(name)) : known->name;
}

Zone zone_of(const Json& node) {
  const std::string zone = kube::label_of(node, kZoneLabel);
  if (!zone.empty()) return Zone(zone);
  const Json& taints = kube::list_at(node, {"spec", "taints"});
  const bool is_new = std::ranges::any_of(
      taints, [](const Json& taint) { return kube::text_at(taint, {"key"}) == kUninitializedTaint; });
  return Zone(is_new ? "" : kZoneOutsideOfClouds);
}

bool is_spot(const Json& node) {
  return std::ranges::any_of(kSpotLabels,
                             [&](const LabelValue& spot) { return kube::label_of(node, spot.label) == spot.value; });
}

}  // namespace

bool names_accelerator(const Json& node) { return !first_label(node, kAcceleratorLabels).empty(); }

PoolKey pool_of_node(const Json& node) {
  return {zone_of(node), accelerator_of(node), is_spot(node) ? Provisioning::kSpot : Provisioning::kOnDemand};
}

Region region_of_node(const Json& node) {
  const std::string region = kube::label_of(node, kRegionLabel);
  return region.empty() ? region_of(zone_of(node)) : Region(region);
}

bool announces_termination(std::string_view taint_key) {
  return std::ranges::find(kTerminationTaints, taint_key) != kTerminationTaints.end();
}

bool has_all(const Labels& labels, const Labels& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

bool is_outside_of_google_cloud(const Json& node) {
  const std::string provider = kube::text_at(node, {"spec", "providerID"});
  return !provider.empty() && !provider.starts_with(kProviderOfGoogle);
}

Labels labels_of_new_node(const PoolKey& pool, bool is_on_gke, Labels stated) {
  Labels labels;
  if (pool.zone.str() != kZoneOutsideOfClouds) labels[kZoneLabel] = pool.zone.str();
  if (is_on_gke) labels[kGkeAcceleratorLabel] = pool.accelerator.str();
  if (is_on_gke && pool.provisioning == Provisioning::kSpot) labels[kGkeSpotLabel] = "true";
  labels.merge(stated);
  return labels;
}

}  // namespace sailor
