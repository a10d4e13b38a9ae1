// The labels, annotations, taints and object names that the operator writes and reads.
#pragma once

#include <chrono>
#include <string>

#include "core/model/ids.h"

namespace sailor {

inline constexpr const char* kGpuResource = "nvidia.com/gpu";
inline constexpr const char* kTrainerContainer = "trainer";
inline constexpr std::chrono::seconds kTerminationGrace{15};  // a preempted spot node leaves its pods about as long

// Labels and annotations of Sailor.
inline constexpr const char* kJobNameLabel = "sailor.dev/job-name";
inline constexpr const char* kJobUidLabel = "sailor.dev/job-uid";
inline constexpr const char* kPoolLabel =
    "sailor.dev/pool";  // the short_hash of the pool's key; the annotation contains the whole key
inline constexpr const char* kPoolAnnotation = "sailor.dev/pool";
inline constexpr const char* kCreatedForAnnotation = "sailor.dev/created-for-generation";
inline constexpr const char* kGenerationAnnotation =
    "sailor.dev/generation";  // of a ConfigMap with a plan: the generation whose plan it shows
inline constexpr const char* kNodeAnnotation =
    "sailor.dev/node";  // the node that the pod is pinned to; absent: any node of the pool
inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kOperatorName = "sailor-operator";

std::string short_hash(const std::string& text);  // 6 hexadecimal digits

// Returns the job's name. A name of more than 48 characters is cut and ends with its hash, so that a name of a pod made
// from it has at most 63 characters, the limit of labels and host names.
std::string short_job_name(const std::string& job);
// Returns the name of a pod. `slot` numbers the pods of the job in one pool; it is not an index into a placement.
std::string slot_name(const std::string& job, const PoolKey& pool, int slot);
// Return the names of the Secret with the credentials of a job's pods, and of the NetworkPolicy around them. The UID is
// part of them, so that nobody can make the operator replace an object of somebody else by the choice of a job's name.
std::string credentials_name(const std::string& job, const std::string& job_uid);
std::string network_policy_name(const std::string& job, const std::string& job_uid);
// Returns the name of a Workload of the job (model/workload.h); Workloads of a job are numbered.
std::string workload_name(const std::string& job, const std::string& job_uid, int number);
std::string plan_map_name(const std::string& job);  // the name of the ConfigMap that shows the plan to people

}  // namespace sailor
