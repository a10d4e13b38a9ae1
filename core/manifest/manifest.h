// Manifests as values: what custom resources and files say, in the planner's vocabulary.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/cluster_state.h"
#include "core/model/job_spec.h"
#include "core/model/network_model.h"
#include "core/model/profile.h"

namespace sailor {

using Json = nlohmann::json;

// Every error names one field by its path, "spec.objective.maxCostPerHour: ...". Fields that only the API server and
// the operator know (status, podTemplate, further metadata) are passed over; check_fields() finds unknown ones.
// `data` may be absent here, for a plan does not depend on it; `sailor validate` and the API server ask for it.
Result<JobSpec> job_from_manifest(const Json& training_job);

// What a GpuPool declares.
struct PoolDeclaration {
  std::string name;
  PoolKey key;
  Region region;
  int gpus_per_node = 0;
  std::optional<int> max_nodes;  // absent: as many as there are
  std::optional<int> nodes;      // that exist; in files only
  DollarsPerHour price_per_gpu;  // the accelerator's list price where the manifest says none
  bool whole_nodes = false;
  std::map<std::string, std::string> node_selector;
  std::optional<BytesPerSecond> inter_node_bandwidth;
  friend bool operator==(const PoolDeclaration&, const PoolDeclaration&) = default;
};

Result<PoolDeclaration> pool_from_manifest(const Json& gpu_pool);

// A pool with that many nodes, all of their GPUs free.
Pool pool_of(const PoolDeclaration& declaration, int nodes);

Result<ModelProfile> profile_from_manifest(const Json& model_profile);

// Starts from Google Cloud's figures; what the manifest says replaces them.
Result<NetworkModel> network_from_manifest(const Json& network_model);

}  // namespace sailor
