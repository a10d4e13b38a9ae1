// Reads the artifact of the Sailor paper: the measurements that its authors published as JSON files (eth-easl/sailor).
// They become profiles and network measurements.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/model/network_model.h"
#include "core/model/profile.h"

namespace sailor {

// Returns whether the folder has the layout of the artifact, which contains layer_times.json.
bool is_artifact(const std::filesystem::path& folder);

// Reads layer_times.json, and layer_memory.json if it exists. Errors name the file and the field.
Result<ProfileBook> read_artifact_profiles(const std::filesystem::path& folder);

// Reads inter_node_bandwidths.json, intra_node_bandwidths.json and egress_cost.json, each if it exists.
Result<NetworkMeasurements> read_artifact_network(const std::filesystem::path& folder);

// Translates the artifact's name of a GPU: "GH-96" is nvidia-gh200.
Result<Accelerator> artifact_accelerator(std::string_view name);

// Reads a JSON file. The error names the file and the problem.
Result<nlohmann::json> read_json_file(const std::filesystem::path& file);

}  // namespace sailor
