// Reads the artifact of the Sailor paper: the measurements that its authors published as JSON files (eth-easl/sailor).
// They become profiles and network measurements.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

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

// GPUs of one type in one zone.
struct ArtifactPool {
  Zone zone;
  Accelerator accelerator;
  int gpus = 0;
  friend bool operator==(const ArtifactPool&, const ArtifactPool&) = default;
};

// Reads the name of a column of a trace: "A100-40_us-central1-a" is that type of GPU in that zone. `gpus` stays 0.
Result<ArtifactPool> artifact_pool(std::string_view column);

// Reads a trace of available GPUs (gpu_trace_*.csv): the pools of every line.
Result<std::vector<std::vector<ArtifactPool>>> read_artifact_trace(const std::filesystem::path& file);

// Reads basic_cluster_config.json: how many GPUs a node has.
Result<std::map<Accelerator, int>> read_artifact_nodes(const std::filesystem::path& folder);

// The job of a training_config_*.json.
struct ArtifactJob {
  std::string model;  // with Sailor's name: "opt-350m"
  int global_batch_size = 0;
  int sequence_length = 0;
};

Result<ArtifactJob> read_artifact_job(const std::filesystem::path& file);
// Translates the artifact's name of a model: "OPT-350" is opt-350m.
Result<std::string> artifact_model(std::string_view name);

// Reads a JSON file. The error names the file and the problem.
Result<nlohmann::json> read_json_file(const std::filesystem::path& file);

}  // namespace sailor
