#include "core/manifest/files.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/manifest/artifact.h"
#include "core/manifest/fields.h"
#include "core/manifest/file_text.h"
#include "core/model/accelerator.h"
#include "core/model/model_spec.h"

namespace sailor {
namespace {

// A job may omit `spec.data` if it is only planned.
bool matters_to_planning(const Error& error) { return error.message != "spec.data: is missing"; }

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
void collect(const SourceDocument& document, const Result<T>& value, std::vector<Error>& errors) {
  if (!value) errors.push_back(document.located(value.error()));
}

// What the documents of a file have said so far. Another one must not contradict it.
class Declarations {
 public:
  // Of two objects with the same name, `kubectl apply` keeps the second one only.
  Result<void> add_name(const SourceDocument& document) {
    const Json metadata = document.value.value("metadata", Json());
    const auto text_of = [&](const char* field) {
      const bool is_text = metadata.is_object() && metadata.contains(field) && metadata.at(field).is_string();
      return is_text ? metadata.at(field).get<std::string>() : std::string();
    };
    const std::string name = text_of("name");
    if (name.empty() || names_.insert({document.kind(), text_of("namespace"), name}).second) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("metadata.name: {} {} is declared twice; keep one, or rename one", document.kind(), name));
  }

  Result<void> add_pool(const PoolDeclaration& pool) {
    const auto& [region, first] = regions_.try_emplace(pool.key.zone, pool.region, pool.name).first->second;
    if (region != pool.region) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("spec.region: GpuPools {} and {} place zone {} in different regions, {} and {}; correct "
                              "one of them",
                              first, pool.name, pool.key.zone.str(), region.str(), pool.region.str()));
    }
    if (!agree(pools_.try_emplace(pool.key, pool).first->second, pool)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("spec: pool {} is described twice with different values; keep one", to_string(pool.key)));
    }
    return add_stated_gpu(pool);
  }

  Result<void> add_network() {
    if (++networks_ == 1) return {};
    return fail(ErrorCode::kInvalidArgument, "kind: the file has several NetworkModels; keep one");
  }

  // The GpuPools that state the figures of an accelerator, the first one for each accelerator.
  [[nodiscard]] const std::map<Accelerator, PoolDeclaration>& stated_gpus() const { return stated_gpus_; }

 private:
  // Several GpuPools may describe nodes of the same pool, but they must agree about everything except the nodes.
  static bool agree(const PoolDeclaration& one, const PoolDeclaration& other) {
    return one.node_selector == other.node_selector && one.price_per_gpu == other.price_per_gpu &&
           one.whole_nodes == other.whole_nodes && one.gpus_per_node == other.gpus_per_node &&
           one.inter_node_bandwidth == other.inter_node_bandwidth && one.node_lifetime == other.node_lifetime;
  }

  // The name of an accelerator stands for one type of GPU, in profiles too.
  Result<void> add_stated_gpu(const PoolDeclaration& pool) {
    if (!pool.gpu) return {};
    const PoolDeclaration& first = stated_gpus_.try_emplace(pool.key.accelerator, pool).first->second;
    if (first.gpu == pool.gpu) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("spec.gpu: GpuPools {} and {} state different figures of {}; keep one of them", first.name,
                            pool.name, pool.key.accelerator.str()));
  }

  std::set<std::array<std::string, 3>> names_;              // kind, namespace and name
  std::map<Zone, std::pair<Region, std::string>> regions_;  // with the GpuPool that says so
  std::map<PoolKey, PoolDeclaration> pools_;                // the first one of each pool
  std::map<Accelerator, PoolDeclaration> stated_gpus_;
  int networks_ = 0;
};

std::vector<Error> validate_document(const SourceDocument& document, Declarations& declared) {
  std::vector<Error> errors;
  for (const Error& error : check_fields(document.value)) errors.push_back(document.located(error));
  if (!errors.empty()) return errors;
  collect(document, declared.add_name(document), errors);
  const std::string kind = document.kind();
  if (kind == "TrainingJob") collect(document, job_from_manifest(document.value), errors);
  if (kind == "GpuPool") {
    const auto pool = pool_from_manifest(document.value);
    collect(document, pool, errors);
    if (pool) collect(document, declared.add_pool(*pool), errors);
  }
  if (kind == "ModelProfile") collect(document, profile_from_manifest(document.value), errors);
  if (kind == "NetworkModel") {
    collect(document, network_from_manifest(document.value), errors);
    collect(document, declared.add_network(), errors);
  }
  if (kind == "ExecutionModel") collect(document, execution_from_manifest(document.value), errors);
  return errors;
}

// Returns a note if the document is a GpuPool of an accelerator that neither the catalogue nor a GpuPool of the file
// describes.
std::optional<std::string> note_on_accelerator(const SourceDocument& document, const Declarations& declared) {
  if (document.kind() != "GpuPool") return std::nullopt;
  const Accelerator name(document.value.at("spec").at("accelerator").get<std::string>());
  if (declared.stated_gpus().contains(name) || find_accelerator(name) != nullptr) return std::nullopt;
  const std::string text = fmt::format(
      "spec.accelerator: {} is not in the catalogue, so no plan uses this pool; correct the name, or state the memory "
      "and the rates of its GPUs in spec.gpu",
      name.str());
  return document.located({ErrorCode::kNotFound, text}).message;
}

// Returns the declaration with its number of nodes.
Result<PoolDeclaration> read_pool(const SourceDocument& document) {
  auto declaration = from_document(document, pool_from_manifest);
  if (!declaration) return declaration;
  if (!declaration->nodes) declaration->nodes = declaration->max_nodes;
  if (!declaration->nodes) {
    return tl::unexpected(
        document.located({ErrorCode::kInvalidArgument,
                          "spec.nodes: is missing; set it to the number of nodes that exist, or set maxNodes"}));
  }
  return declaration;
}

Result<void> add_pool(const SourceDocument& document, Declarations& declared, ClusterFile& file) {
  const auto declaration = read_pool(document);
  if (!declaration) return tl::unexpected(declaration.error());
  if (auto added = declared.add_pool(*declaration); !added) return tl::unexpected(document.located(added.error()));
  Pool pool = pool_of(*declaration, declaration->nodes.value());
  file.node_selectors[pool.key] = declaration->node_selector;
  file.cluster.pools.push_back(std::move(pool));
  return {};
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

Result<JobSpec> job_of(const SourceDocument& document) { return from_document(document, job_from_manifest); }

Result<void> check_accelerators(const JobSpec& job, const SourceDocument& job_document, const ClusterState& cluster) {
  for (std::size_t i = 0; i < job.resources.accelerators.size(); ++i) {
    const Accelerator& name = job.resources.accelerators[i];
    if (cluster.accelerators.find(name) != nullptr) continue;
    return tl::unexpected(job_document.located(
        {ErrorCode::kNotFound,
         fmt::format(
             "spec.resources.accelerators[{}]: accelerator \"{}\" is unknown; the known accelerators are {}; state "
             "the memory and the rates of any other in spec.gpu of its GpuPool",
             i, name.str(), known_accelerators())}));
  }
  return {};
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
  ClusterFile result{.cluster = {}, .network = google_cloud_network(), .node_selectors = {}};
  Declarations declared;
  for (const SourceDocument& document : *documents) {
    if (auto added = declared.add_name(document); !added) return tl::unexpected(document.located(added.error()));
    if (document.kind() == "GpuPool") {
      if (auto added = add_pool(document, declared, result); !added) return tl::unexpected(added.error());
    } else if (document.kind() == "NetworkModel") {
      auto network = from_document(document, network_from_manifest);
      if (!network) return tl::unexpected(network.error());
      if (auto added = declared.add_network(); !added) return tl::unexpected(document.located(added.error()));
      result.network = *std::move(network);
    } else {
      return tl::unexpected(document.located(
          {ErrorCode::kInvalidArgument,
           fmt::format("kind: \"{}\" does not describe a cluster; use GpuPool and NetworkModel", document.kind())}));
    }
  }
  if (result.cluster.pools.empty()) return tl::unexpected(error_in(file, "has no GpuPool; describe at least one"));
  for (const auto& [name, pool] : declared.stated_gpus()) result.cluster.accelerators.add(pool.gpu.value());
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

Validation validate_file(const std::filesystem::path& file) {
  const auto documents = read_documents(file);
  if (!documents) return {{documents.error()}, {}};
  if (documents->empty()) return {{error_in(file, "contains no manifest")}, {}};
  Validation result;
  Declarations declared;
  for (const SourceDocument& document : *documents) {
    std::ranges::move(validate_document(document, declared), std::back_inserter(result.errors));
  }
  if (!result.errors.empty()) return result;
  for (const SourceDocument& document : *documents) {
    if (auto note = note_on_accelerator(document, declared)) result.notes.push_back(*std::move(note));
  }
  return result;
}

}  // namespace sailor
