// What was measured, as the manifests that the planner reads: a ModelProfile, a NetworkModel.
#pragma once

#include <string>

#include "core/model/network_model.h"
#include "core/model/profile.h"

namespace sailor::trainer {

struct ManifestHeader {
  std::string name;         // metadata.name
  std::string device;       // what was measured on
  std::string measured_at;  // RFC 3339
};

std::string to_manifest(const ModelProfile& profile, const ManifestHeader& header);

std::string name_of_this_processor();
std::string time_now();  // RFC 3339, UTC

// A NetworkModel for the file that the planner and the simulator read: the link within a node, or between two zones.
std::string link_manifest(const Link& link, const std::string& from_zone, const std::string& to_zone);

}  // namespace sailor::trainer
