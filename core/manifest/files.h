// Files of manifests: what the sailor command reads. Every error says file and line.
#pragma once

#include <filesystem>

#include "core/manifest/manifest.h"
#include "core/manifest/source.h"

namespace sailor {

// In all of them the file "-" is the standard input.

// The one TrainingJob of a file; other kinds in it are passed over.
Result<JobSpec> read_job(const std::filesystem::path& file);
// The same in two steps, for those who need what JobSpec leaves out (the pod template).
Result<SourceDocument> read_job_document(const std::filesystem::path& file);
Result<JobSpec> job_of(const SourceDocument& document);

struct ClusterFile {
  ClusterState cluster;  // every pool has its `nodes`, or as many as `maxNodes` allows
  NetworkModel network;
};

Result<ClusterFile> read_cluster(const std::filesystem::path& file);

// Every ModelProfile in the YAML and JSON files of a folder, in the order of their names; or the measurements of
// Sailor's authors, where the folder is laid out as theirs (artifact.h).
Result<ProfileBook> read_profiles(const std::filesystem::path& folder);
// What such a folder says of the network; nothing where it holds manifests.
Result<NetworkMeasurements> read_network_measurements(const std::filesystem::path& folder);

// All that is wrong with a file: unknown fields and wrong types first, of a document without any its values.
std::vector<Error> validate_file(const std::filesystem::path& file);

}  // namespace sailor
