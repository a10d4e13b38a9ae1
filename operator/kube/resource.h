// Resource: a kind of objects in the API server, and its paths. The constants are the kinds that the operator uses.
#pragma once

#include <string>

#include "core/model/ids.h"

namespace sailor::kube {

struct Resource {
  std::string group_version;  // "v1", "apps/v1"
  std::string kind;           // "TrainingJob"
  std::string plural;         // the name of the kind in paths: "trainingjobs"
  bool namespaced = true;
};

extern const Resource kTrainingJobs;
extern const Resource kGpuPools;
extern const Resource kModelProfiles;
extern const Resource kJobRecords;
extern const Resource kPods;
extern const Resource kNodes;
extern const Resource kPriorityClasses;
extern const Resource kConfigMaps;
extern const Resource kEvents;
extern const Resource kCoreEvents;  // the same objects, as older libraries write them; they can be selected by source
extern const Resource kLeases;
extern const Resource kSecrets;
extern const Resource kNetworkPolicies;

// Kinds of Kueue, in a version of its API such as "v1beta1".
Resource workloads(const std::string& version);
Resource resource_flavors(const std::string& version);
Resource workload_priority_classes(const std::string& version);

// Returns the path of all objects of the kind in a namespace, or in all namespaces if `namespace_name` is empty:
// "/apis/sailor.dev/v1alpha1/namespaces/default/trainingjobs".
std::string collection_path(const Resource& resource, const std::string& namespace_name);
// Returns the path of one object: the path of its collection, followed by "/" and the name.
std::string object_path(const Resource& resource, const std::string& namespace_name, const std::string& name);

}  // namespace sailor::kube
