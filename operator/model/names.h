// Labels, annotations and names that the operator writes and reads. Each is defined only here.
#pragma once

#include <chrono>
#include <string>

#include "core/model/ids.h"

namespace sailor {

inline constexpr const char* kGroup = "sailor.dev";
inline constexpr const char* kGpuResource = "nvidia.com/gpu";
inline constexpr const char* kTrainerContainer = "trainer";
inline constexpr std::chrono::seconds kTerminationGrace{15};  // a spot node has about as long

// Ours.
inline constexpr const char* kJobNameLabel = "sailor.dev/job-name";
inline constexpr const char* kJobUidLabel = "sailor.dev/job-uid";
inline constexpr const char* kPoolLabel =
    "sailor.dev/pool";  // short_hash of the pool's key; the annotation has it whole
inline constexpr const char* kPoolAnnotation = "sailor.dev/pool";
inline constexpr const char* kCreatedForAnnotation = "sailor.dev/created-for-generation";
inline constexpr const char* kNodeAnnotation =
    "sailor.dev/node";  // the node that the pod is pinned to; absent: any of the pool
inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kOperatorName = "sailor-operator";

// Of Kubernetes and of GKE.
inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr const char* kRegionLabel = "topology.kubernetes.io/region";
inline constexpr const char* kAcceleratorLabel = "cloud.google.com/gke-accelerator";
inline constexpr const char* kSpotLabel = "cloud.google.com/gke-spot";
inline constexpr const char* kTerminationTaint = "cloud.google.com/impending-node-termination";

std::string short_hash(const std::string& text);  // 6 hexadecimal digits

// At most 63 characters, as labels and host names may have; a longer job name is cut and ends with its hash.
std::string short_job_name(const std::string& job);
std::string slot_name(const std::string& job, const PoolKey& pool, int slot);
std::string record_name(const std::string& job);  // of the ConfigMap

}  // namespace sailor
