// Reads the manifest files of the sailor command. Every error names the file, and the line where it applies.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/manifest/manifest.h"
#include "core/manifest/source.h"

namespace sailor {

// In all functions the file "-" is the standard input.

// Reads the one TrainingJob of a file and ignores documents of other kinds.
Result<JobSpec> read_job(const std::filesystem::path& file);
// These two functions do the same in two steps, for callers that also need the fields that JobSpec does not have (the
// pod template).
Result<SourceDocument> read_job_document(const std::filesystem::path& file);
Result<JobSpec> job_of(const SourceDocument& document);

struct ClusterFile {
  ClusterState cluster;  // a pool has `nodes` nodes, or `maxNodes` if `nodes` is absent
  NetworkModel network;
  std::map<PoolKey, std::map<std::string, std::string>> node_selectors;  // PoolDeclaration::node_selector of each pool
};

Result<ClusterFile> read_cluster(const std::filesystem::path& file);

// Returns an error with file and line if the job asks for an accelerator by name that the cluster does not know.
Result<void> check_accelerators(const JobSpec& job, const SourceDocument& job_document, const ClusterState& cluster);

// Reads the one ExecutionModel of a file.
Result<ExecutionModel> read_execution_model(const std::filesystem::path& file);

// Reads every ModelProfile in the YAML and JSON files of a folder, in the order of the file names. If the folder is the
// artifact of the Sailor paper, reads its measurements instead (artifact.h).
Result<ProfileBook> read_profiles(const std::filesystem::path& folder);
// Reads the network measurements of such a folder. A folder of manifests has none.
Result<NetworkMeasurements> read_network_measurements(const std::filesystem::path& folder);

struct Validation {
  std::vector<Error> errors;
  std::vector<std::string> notes;  // what is valid but probably not meant, with file and line
};

// Checks all documents of a file. A document's values are checked only if it has no unknown fields and no wrong types.
Validation validate_file(const std::filesystem::path& file);

}  // namespace sailor
