// Reads custom resources and manifests into the types of core/model.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/cluster_state.h"
#include "core/model/execution_model.h"
#include "core/model/job_spec.h"
#include "core/model/json_reader.h"
#include "core/model/network_model.h"
#include "core/model/profile.h"

namespace sailor {

using Json = nlohmann::json;

// Every error names one field by its path: "spec.objective.maxCostPerHour: ...". These functions ignore fields that
// only the API server and the operator use (status, podTemplate, other metadata); check_fields() finds unknown fields.
// `data` may be absent here, because a plan does not depend on it. `sailor validate` and the API server require it.
Result<JobSpec> job_from_manifest(const Json& training_job);

// The contents of a GpuPool.
struct PoolDeclaration {
  std::string name;
  PoolKey key;
  Region region;
  int gpus_per_node = 0;
  std::optional<int> max_nodes;  // absent: the pool does not grow
  std::optional<int> nodes;      // the nodes that exist now; in files only
  DollarsPerHour price_per_gpu;  // the list price if the manifest has none
  bool whole_nodes = false;
  std::map<std::string, std::string> node_selector;
  std::optional<BytesPerSecond> inter_node_bandwidth;
  std::optional<Seconds> node_lifetime;  // Pool::node_lifetime
  std::optional<AcceleratorSpec> gpu;    // what the manifest states about its accelerator
  friend bool operator==(const PoolDeclaration&, const PoolDeclaration&) = default;
};

Result<PoolDeclaration> pool_from_manifest(const Json& gpu_pool);

// A pool with this number of nodes, all of whose GPUs are free.
Pool pool_of(const PoolDeclaration& declaration, int nodes);

Result<ModelProfile> profile_from_manifest(const Json& model_profile);

// Starts from google_cloud_network(); the fields of the manifest replace its values.
Result<NetworkModel> network_from_manifest(const Json& network_model);

// Starts from the model that `spec.base` names, or else from default_execution_model(); the fields of the manifest
// replace its values.
Result<ExecutionModel> execution_from_manifest(const Json& execution_model);
// Reads the object `execution` of a NetworkModel, or the spec of an ExecutionModel. Errors are recorded in the reader.
ExecutionModel execution_from(JsonReader& reader);

}  // namespace sailor
