#include "core/manifest/files.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/manifest/artifact.h"
#include "core/manifest/fields.h"
#include "core/manifest/file_error.h"
#include "core/model/accelerator.h"
#include "core/model/model_spec.h"

namespace sailor {
namespace {

// A job may omit `spec.data` if it is only planned.
bool matters_to_planning(const Error& error) { return error.message != "spec.data: is missing"; }

Result<void> check_known(const Accelerator& name) {
  if (find_accelerator(name) != nullptr) return {};
  return fail(ErrorCode::kNotFound, fmt::format("accelerator \"{}\" is unknown; the known accelerators are {}",
                                                name.str(), known_accelerators()));
}

template <class T>
Result<T> from_document(const SourceDocument& document, Result<T> (*read)(const Json&)) {
  for (const Error& error : check_fields(document.value)) {
    if (matters_to_planning(error)) return tl::unexpected(document.located(error));
  }
  Result<T> value = read(document.value);
  if (!value) return tl::unexpected(document.located(value.error()));
  return value;
}

template <class T>
void collect(const SourceDocument& document, Result<T> (*read)(const Json&), std::vector<Error>& errors) {
  if (const Result<T> value = read(document.value); !value) errors.push_back(document.located(value.error()));
}

std::vector<Error> validate_document(const SourceDocument& document) {
  std::vector<Error> errors;
  for (const Error& error : check_fields(document.value)) errors.push_back(document.located(error));
  if (!errors.empty()) return errors;
  const std::string kind = document.kind();
  if (kind == "TrainingJob") collect(document, job_from_manifest, errors);
  if (kind == "GpuPool") collect(document, pool_from_manifest, errors);
  if (kind == "ModelProfile") collect(document, profile_from_manifest, errors);
  if (kind == "NetworkModel") collect(document, network_from_manifest, errors);
  if (kind == "ExecutionModel") collect(document, execution_from_manifest, errors);
  return errors;
}

Result<Pool> read_pool(const SourceDocument& document) {
  const auto declaration = from_document(document, pool_from_manifest);
  if (!declaration) return tl::unexpected(declaration.error());
  const auto nodes = declaration->nodes ? declaration->nodes : declaration->max_nodes;
  if (!nodes) {
    return tl::unexpected(
        document.located({ErrorCode::kInvalidArgument,
                          "spec.nodes: is missing; set it to the number of nodes that exist, or set maxNodes"}));
  }
  if (auto known = check_known(declaration->key.accelerator); !known) {
    return tl::unexpected(document.located(std::move(known.error()).within("spec.accelerator")));
  }
  return pool_of(*declaration, *nodes);
}

// Several GpuPools may describe nodes of the same pool, but they must agree about everything except the nodes.
Result<void> check_agreement(const SourceDocument& document, const ClusterState& cluster, const Pool& pool) {
  const Pool* known = cluster.find(pool.key);
  const bool agrees =
      known == nullptr ||
      (known->price_per_gpu == pool.price_per_gpu && known->region == pool.region &&
       known->whole_nodes == pool.whole_nodes && known->gpus_per_node == pool.gpus_per_node &&
       known->inter_node_bandwidth == pool.inter_node_bandwidth && known->node_lifetime == pool.node_lifetime);
  if (agrees) return {};
  return tl::unexpected(document.located(
      {ErrorCode::kInvalidArgument,
       fmt::format("spec: pool {} is described twice with different values; keep one", to_string(pool.key))}));
}

}  // namespace

Result<SourceDocument> read_job_document(const std::filesystem::path& file) {
  auto documents = read_documents(file);
  if (!documents) return tl::unexpected(documents.error());
  std::erase_if(*documents, [](const SourceDocument& document) { return document.kind() != "TrainingJob"; });
  if (documents->size() != 1) {
    return tl::unexpected(error_in(file, fmt::format("has {} TrainingJobs; expected one", documents->size())));
  }
  return std::move(documents->front());
}

Result<JobSpec> read_job(const std::filesystem::path& file) {
  const auto document = read_job_document(file);
  if (!document) return tl::unexpected(document.error());
  return job_of(*document);
}

Result<JobSpec> job_of(const SourceDocument& document) {
  auto job = from_document(document, job_from_manifest);
  if (!job) return job;
  for (std::size_t i = 0; i < job->resources.accelerators.size(); ++i) {
    if (auto known = check_known(job->resources.accelerators[i]); !known) {
      return tl::unexpected(
          document.located(std::move(known.error()).within(fmt::format("spec.resources.accelerators[{}]", i))));
    }
  }
  return job;
}

Result<ExecutionModel> read_execution_model(const std::filesystem::path& file) {
  const auto documents = read_documents(file);
  if (!documents) return tl::unexpected(documents.error());
  if (documents->size() != 1 || documents->front().kind() != "ExecutionModel") {
    return tl::unexpected(error_in(file, "is not one ExecutionModel; use such a file, or the name of a built-in one"));
  }
  return from_document(documents->front(), execution_from_manifest);
}

Result<ClusterFile> read_cluster(const std::filesystem::path& file) {
  const auto documents = read_documents(file);
  if (!documents) return tl::unexpected(documents.error());
  ClusterFile result{{}, google_cloud_network()};
  int networks = 0;
  for (const SourceDocument& document : *documents) {
    if (document.kind() == "GpuPool") {
      auto pool = read_pool(document);
      if (!pool) return tl::unexpected(pool.error());
      if (auto agrees = check_agreement(document, result.cluster, *pool); !agrees)
        return tl::unexpected(agrees.error());
      result.cluster.pools.push_back(*std::move(pool));
    } else if (document.kind() == "NetworkModel") {
      auto network = from_document(document, network_from_manifest);
      if (!network) return tl::unexpected(network.error());
      result.network = *std::move(network);
      ++networks;
    } else {
      return tl::unexpected(document.located(
          {ErrorCode::kInvalidArgument,
           fmt::format("kind: \"{}\" does not describe a cluster; use GpuPool and NetworkModel", document.kind())}));
    }
  }
  if (result.cluster.pools.empty()) return tl::unexpected(error_in(file, "has no GpuPool; describe at least one"));
  if (networks > 1) return tl::unexpected(error_in(file, "has several NetworkModels; keep one"));
  result.cluster = normalized(std::move(result.cluster));
  return result;
}

namespace {

// Checks profiles of models in the catalogue. The layers of a job's own configuration are known only with the job.
Result<void> check_layers(const ModelProfile& profile) {
  const auto model = find_model(profile.model);
  const auto layers = static_cast<int>(profile.times.begin()->second.size());
  if (!model || layers == model->layer_count()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("spec.layers: the profile has {} layers, but {} has {}; measure it again", layers,
                          model->name, model->layer_count()));
}

Result<ProfileBook> read_profile_manifests(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".yml" || extension == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  ProfileBook book;
  for (const auto& file : files) {
    const auto documents = read_documents(file);
    if (!documents) return tl::unexpected(documents.error());
    for (const SourceDocument& document : *documents) {
      if (document.kind() != "ModelProfile") continue;
      auto profile = from_document(document, profile_from_manifest);
      if (!profile) return tl::unexpected(profile.error());
      if (auto fits = check_layers(*profile); !fits) return tl::unexpected(document.located(fits.error()));
      book.add(*std::move(profile));
    }
  }
  if (book.profiles().empty()) {
    return tl::unexpected(error_in(folder, "contains no ModelProfile; use another folder or omit --profiles"));
  }
  return book;
}

}  // namespace

Result<ProfileBook> read_profiles(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return tl::unexpected(error_in(folder, "is not a folder; use a folder with ModelProfile manifests"));
  }
  return is_artifact(folder) ? read_artifact_profiles(folder) : read_profile_manifests(folder);
}

Result<NetworkMeasurements> read_network_measurements(const std::filesystem::path& folder) {
  if (!is_artifact(folder)) return NetworkMeasurements{};
  return read_artifact_network(folder);
}

std::vector<Error> validate_file(const std::filesystem::path& file) {
  const auto documents = read_documents(file);
  if (!documents) return {documents.error()};
  if (documents->empty()) return {error_in(file, "contains no manifest")};
  std::vector<Error> errors;
  for (const SourceDocument& document : *documents) {
    std::ranges::move(validate_document(document), std::back_inserter(errors));
  }
  return errors;
}

}  // namespace sailor
