// The kinds of objects that the operator reads and writes, and where the API server keeps them.
#pragma once

#include <string>

#include "core/model/ids.h"

namespace sailor::kube {

struct Resource {
  std::string group_version;  // "v1", "apps/v1"
  std::string kind;
  std::string plural;
  bool namespaced = true;
};

extern const Resource kTrainingJobs;
extern const Resource kGpuPools;
extern const Resource kModelProfiles;
extern const Resource kPods;
extern const Resource kNodes;
extern const Resource kConfigMaps;
extern const Resource kEvents;
extern const Resource kLeases;

// "/apis/sailor.dev/v1alpha1/namespaces/default/trainingjobs"; an empty namespace means all of them.
std::string collection_path(const Resource& resource, const std::string& namespace_name);
std::string object_path(const Resource& resource, const std::string& namespace_name, const std::string& name);

}  // namespace sailor::kube
