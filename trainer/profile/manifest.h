// A measured ModelProfile as the manifest that `kubectl apply` takes.
#pragma once

#include <string>

#include "planner/model/profile.h"

namespace sailor::trainer {

struct ManifestHeader {
  std::string name;         // metadata.name
  std::string device;       // what was measured on
  std::string measured_at;  // RFC 3339
};

std::string to_manifest(const ModelProfile& profile, const ManifestHeader& header);

std::string name_of_this_processor();
std::string time_now();  // RFC 3339, UTC

}  // namespace sailor::trainer
