// What the labels and taints of a node say about it. Clouds and device plugins have different names for the same facts.
// All of these names are read in every cluster (docs/decisions/0044-labels-of-all-clouds-are-read.md).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/model/ids.h"
#include "operator/kube/object.h"

namespace sailor {

inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr const char* kHostnameLabel = "kubernetes.io/hostname";
inline constexpr const char* kAcceleratorLabel = "sailor.dev/accelerator";  // where no cloud or plugin names the GPUs
inline constexpr const char* kGkeAcceleratorLabel = "cloud.google.com/gke-accelerator";
inline constexpr const char* kGkeSpotLabel = "cloud.google.com/gke-spot";
inline constexpr const char* kAksPriorityLabel = "kubernetes.azure.com/scalesetpriority";  // also the key of a taint

inline constexpr const char* kAutoscalerTaint = "ToBeDeletedByClusterAutoscaler";

using Labels = std::map<std::string, std::string>;

bool has_all(const Labels& labels, const Labels& wanted);  // with the same values

// Returns whether a label says which GPUs the node has.
bool names_accelerator(const kube::Json& node);

// Returns the pool of a node with GPUs. An accelerator that the catalogue does not have gets a name made from the
// label. Nodes outside of clouds have no label for their zone, so they are in the zone "default". The zone of a new
// node is empty until its cloud has labelled it.
PoolKey pool_of_node(const kube::Json& node);

// Returns the region that a label names, or else the region of the zone's name.
Region region_of_node(const kube::Json& node);

// Returns whether a taint with this key says that its node is about to be terminated.
bool announces_termination(std::string_view taint_key);

// Returns whether the node's machine is known not to be one of Google Cloud.
bool is_outside_of_google_cloud(const kube::Json& node);

// Returns the labels that a new node of the pool will have: those that follow from the pool's key, and further ones
// that its GpuPool states (PoolDeclaration::node_selector).
Labels labels_of_new_node(const PoolKey& pool, bool is_on_gke, Labels stated = {});

}  // namespace sailor
