#include "report/paper/inputs.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "core/manifest/file_text.h"
#include "core/manifest/files.h"
#include "core/model/json_reader.h"
#include "core/model/model_spec.h"
#include "core/model/plan_json.h"

namespace sailor::paper {
namespace {

Result<void> check_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return tl::unexpected(error_in(folder, "is not a folder; use the folder of Sailor's artifact"));
  }
  if (!is_artifact(folder)) {
    return tl::unexpected(error_in(folder, "contains no layer_times.json; use the folder of Sailor's artifact"));
  }
  return {};
}

Pool pool_of(const ArtifactPool& gpus, int gpus_per_node, DollarsPerHour price) {
  Pool pool{.key = {gpus.zone, gpus.accelerator, Provisioning::kOnDemand},
            .region = region_of(gpus.zone),
            .gpus_per_node = gpus_per_node,
            .nodes = {{gpus_per_node, gpus.gpus / gpus_per_node}},
            .price_per_gpu = price};
  if (gpus.gpus % gpus_per_node > 0) pool.nodes.push_back({gpus.gpus % gpus_per_node, 1});
  return pool;
}

Result<std::vector<ArtifactPool>> gpus_of(const Case& one, const Artifact& artifact) {
  if (one.trace.empty()) return one.gpus;
  const auto file = artifact.folder / one.trace;
  auto lines = read_artifact_trace(file);
  if (!lines) return tl::unexpected(std::move(lines.error()));
  if (one.line < lines->size()) return std::move((*lines)[one.line]);
  return tl::unexpected(
      error_in(file, fmt::format("has {} clusters, and number {} is needed", lines->size(), one.line + 1)));
}

Result<RecordedPlan> read_recorded_plan(const std::filesystem::path& file) {
  const auto json = read_json_file(file);
  if (!json) return tl::unexpected(json.error());
  JsonReader reader(*json, "");
  JsonReader peer(reader.child("peer"), "peer");
  const Outcome outcome{peer.required<double>("iterationsPerSecond"),
                        Dollars(peer.required<double>("dollarsPerIteration")), ""};
  const Seconds search(peer.required<double>("searchSeconds"));
  if (peer.error()) return tl::unexpected(error_in(file, peer.error()->message));
  auto plan = plan_from_json(reader.child("plan"));
  if (!plan) return tl::unexpected(error_in(file, plan.error().message));
  return RecordedPlan{file.stem().string(), *std::move(plan), outcome, search};
}

}  // namespace

Result<Artifact> read_artifact(const std::filesystem::path& folder) {
  if (auto checked = check_folder(folder); !checked) return tl::unexpected(std::move(checked.error()));
  auto profiles = read_artifact_profiles(folder);
  if (!profiles) return tl::unexpected(std::move(profiles.error()));
  auto network = read_artifact_network(folder);
  if (!network) return tl::unexpected(std::move(network.error()));
  auto gpus_per_node = read_artifact_nodes(folder);
  if (!gpus_per_node) return tl::unexpected(std::move(gpus_per_node.error()));
  Artifact artifact{*std::move(profiles), google_cloud_network(), *std::move(gpus_per_node), {}, folder};
  artifact.network.measured = *std::move(network);
  for (const auto& [model, file] : evaluation().training_configs) {
    const auto job = read_artifact_job(folder / file);
    if (!job) return tl::unexpected(job.error());
    if (job->model != model) return tl::unexpected(error_in(folder / file, "is not the job of " + model));
    artifact.jobs[model] = *job;
  }
  return artifact;
}

JobSpec job_of(const Case& one, const Artifact& artifact) {
  const ArtifactJob& config = artifact.jobs.at(one.model);
  JobSpec job;
  job.key = {"paper", one.model};
  job.model = find_model(one.model).value();
  job.training.global_batch_size = config.global_batch_size;
  job.training.sequence_length = config.sequence_length;
  job.training.microbatch_sizes = evaluation().microbatch_sizes;
  job.training.steps = 1;
  job.objective = one.objective;
  job.redundancy = Redundancy::kNone;
  return job;
}

Result<ClusterState> cluster_of(const Case& one, const Artifact& artifact) {
  const auto gpus = gpus_of(one, artifact);
  if (!gpus) return tl::unexpected(gpus.error());
  ClusterState cluster;
  for (const ArtifactPool& pool : *gpus) {
    const auto size = artifact.gpus_per_node.find(pool.accelerator);
    const auto price = evaluation().prices.find(pool.accelerator);
    if (size == artifact.gpus_per_node.end() || price == evaluation().prices.end()) {
      return tl::unexpected(
          error_in(artifact.folder, fmt::format("does not say how many {} a node has", pool.accelerator.str())));
    }
    cluster.pools.push_back(pool_of(pool, size->second, price->second));
  }
  return normalized(std::move(cluster));
}

Result<std::vector<RecordedPlan>> read_recorded_plans(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return tl::unexpected(error_in(folder, "is not a folder with recorded plans; check --peer-plans"));
  }
  std::vector<RecordedPlan> plans;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    auto plan = read_recorded_plan(entry.path());
    if (!plan) return tl::unexpected(std::move(plan.error()));
    plans.push_back(*std::move(plan));
  }
  std::ranges::sort(plans, {},
                    [](const RecordedPlan& plan) { return std::pair(plan.planner != "sailor", plan.planner); });
  return plans;
}

}  // namespace sailor::paper
