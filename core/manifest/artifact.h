// The public measurements of Sailor's authors (the JSON files of eth-easl/sailor) as profiles and network figures.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/model/network_model.h"
#include "core/model/profile.h"

namespace sailor {

// Whether a folder is laid out as theirs: it has a layer_times.json.
bool is_artifact(const std::filesystem::path& folder);

// layer_times.json, and layer_memory.json where there is one. Errors say file and field.
Result<ProfileBook> read_artifact_profiles(const std::filesystem::path& folder);

// inter_node_bandwidths.json, intra_node_bandwidths.json and egress_cost.json, each where there is one.
Result<NetworkMeasurements> read_artifact_network(const std::filesystem::path& folder);

// Their names of models and GPUs in ours: "OPT-350" is opt-350m, "GH-96" is nvidia-gh200.
Result<std::string> artifact_model(std::string_view name);
Result<Accelerator> artifact_accelerator(std::string_view name);

// A JSON file; the error names it and says what is wrong.
Result<nlohmann::json> read_json_file(const std::filesystem::path& file);

}  // namespace sailor
