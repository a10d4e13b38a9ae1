// Writes measurements as the manifests that the planner reads: ModelProfile and NetworkModel.
#pragma once

#include <string>

#include "core/model/execution_model.h"
#include "core/model/network_model.h"
#include "core/model/profile.h"

namespace sailor::trainer {

struct ManifestHeader {
  std::string name;         // metadata.name
  std::string device;       // the measured processor
  std::string measured_at;  // RFC 3339
};

// Returns a ModelProfile as YAML.
std::string profile_manifest(const ModelProfile& profile, const ManifestHeader& header);

// Returns a NetworkModel as YAML, with the link between two zones, or the link within a node if the zones are empty.
// `execution` was measured on that link; `source` says where and when.
std::string network_manifest(const Link& link, const std::string& from_zone, const std::string& to_zone,
                             const ExecutionModel& execution);

std::string cpu_model_name();  // the model of this machine's CPU
std::string current_time();    // RFC 3339, UTC

}  // namespace sailor::trainer
