#include "cli/input_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/slow_nodes.h"
#include "core/manifest/file_text.h"
#include "core/model/plan_json.h"
#include "operator/reconcile/decide/usable_nodes.h"
#include "planner/problem/planning_problem.h"
#include "simulator/job_tables.h"

namespace sailor::cli {
namespace {

Result<ExecutionModel> execution_model(const std::string& wanted, const ClusterFile& cluster) {
  return wanted.empty() ? Result<ExecutionModel>(cluster.network.execution_model()) : named_execution_model(wanted);
}

// What is known of the cluster, from files or from Kubernetes.
struct KnownCluster {
  ClusterFile file;
  ProfileBook profiles;
  std::optional<LiveCluster> live;
};

// Of a live cluster, the state has all GPUs that the job might get, whatever its quota is.
Result<KnownCluster> read_known_cluster(const Inputs& inputs, const SourceDocument& job_document) {
  if (!inputs.live) {
    if (inputs.cluster.empty()) {
      return fail(ErrorCode::kInvalidArgument,
                  "--cluster is required, or --from-cluster, which reads the cluster from Kubernetes; see "
                  "`sailor plan --help`");
    }
    auto file = read_cluster(inputs.cluster);
    if (!file) return tl::unexpected(std::move(file.error()));
    return KnownCluster{.file = *std::move(file), .profiles = {}, .live = {}};
  }
  auto live = read_live_cluster(*inputs.live, job_document);
  if (!live) return tl::unexpected(std::move(live.error()));
  const Observation& observation = live->observation;
  const NodeQuery query{.scope = NodeScope::kGrowable, .ignores_quota = true};
  KnownCluster known{.file = {cluster_of(usable_nodes(observation, query), *observation.cluster), live->network, {}},
                     .profiles = std::move(live->profiles),
                     .live = {}};
  known.live = *std::move(live);
  return known;
}

// A zone without pool is mostly mistyped.
std::vector<std::string> notes_on_unused_pairs(const NetworkModel& network, const ClusterState& cluster) {
  std::vector<std::string> notes;
  for (const PairOverride& pair : network.pairs) {
    for (const Zone& zone : {pair.from, pair.to}) {
      if (std::ranges::any_of(cluster.pools, [&](const Pool& pool) { return pool.key.zone == zone; })) continue;
      notes.push_back(fmt::format("NetworkModel: no pool is in zone {}, so the pair of {} and {} has no effect",
                                  zone.str(), pair.from.str(), pair.to.str()));
      break;
    }
  }
  return notes;
}

}  // namespace

Result<ExecutionModel> named_execution_model(const std::string& name) {
  if (const ExecutionModel* built_in = find_execution_model(name)) return *built_in;
  if (name != "-" && !std::filesystem::exists(name)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--execution {}: is unknown; use {}, or a file with an ExecutionModel", name,
                            execution_model_names()));
  }
  return read_execution_model(name);
}

Result<InputFiles> read_input_files(const Inputs& inputs) {
  if (auto checked = check_standard_input(inputs); !checked) return tl::unexpected(std::move(checked.error()));
  auto document = read_job_document(inputs.job);
  if (!document) return tl::unexpected(std::move(document.error()));
  auto job = job_of(*document);
  if (!job) return tl::unexpected(std::move(job.error()));
  auto known = read_known_cluster(inputs, *document);
  if (!known) return tl::unexpected(std::move(known.error()));
  ClusterFile* cluster = &known->file;
  if (auto checked = check_accelerators(*job, *document, cluster->cluster); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  auto slow = parse_slow_nodes(inputs.slow);
  if (!slow) return tl::unexpected(std::move(slow.error()));
  auto slowed = with_slow_nodes(cluster->cluster, *slow);
  if (!slowed) return tl::unexpected(std::move(slowed.error()).within("--slow"));
  ProfileBook profiles = std::move(known->profiles);
  if (!inputs.profiles.empty()) {
    auto read = read_profiles(inputs.profiles);
    if (!read) return tl::unexpected(std::move(read.error()));
    if (auto checked = check_profiles(*job, cluster->cluster, *read); !checked) {
      return tl::unexpected(std::move(checked.error()).within(inputs.profiles));
    }
    profiles = *std::move(read);
    auto measured = read_network_measurements(inputs.profiles);
    if (!measured) return tl::unexpected(std::move(measured.error()));
    cluster->network.measured = *std::move(measured);
  }
  auto execution = execution_model(inputs.execution, *cluster);
  if (!execution) return tl::unexpected(std::move(execution.error()));
  std::vector<std::string> notes = notes_on_slow_nodes(*slow);
  if (!known->live) {
    std::ranges::move(notes_on_unused_pairs(cluster->network, cluster->cluster), std::back_inserter(notes));
  }
  return InputFiles{
      .job = *std::move(job),
      .job_document = *std::move(document),
      .cluster = *std::move(slowed),
      .healthy = std::move(cluster->cluster),
      .slow = *std::move(slow),
      .live = std::move(known->live),
      .node_selectors = std::move(cluster->node_selectors),
      .simulator = std::make_unique<Simulator>(std::move(profiles), std::move(cluster->network), *std::move(execution)),
      .notes = std::move(notes)};
}

void print_left_out_pools(const InputFiles& world, std::ostream& notes) {
  for (const std::string& note : notes_on_unknown_pools(world.job, world.cluster)) notes << "note: " << note << "\n";
}

Result<void> check_standard_input(const std::vector<std::string>& files) {
  if (std::ranges::count(files, "-") < 2) return {};
  return fail(ErrorCode::kInvalidArgument,
              "- is given twice, but the standard input can be read only once; use a file");
}

Result<void> check_standard_input(const Inputs& inputs, std::vector<std::string> others) {
  others.insert(others.end(), {inputs.job, inputs.cluster, inputs.execution});
  return check_standard_input(others);
}

Result<Plan> read_plan(const std::string& file) {
  const auto text = read_text(file);
  if (!text) return tl::unexpected(text.error());
  const Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded()) {
    return tl::unexpected(error_in(file, "is not valid JSON; use a plan as `sailor plan -o json` prints it"));
  }
  auto plan = plan_of_known_fields(json.is_object() && json.contains("plan") ? json.at("plan") : json);
  if (!plan) return tl::unexpected(std::move(plan.error()).within(name_in_errors(file)));
  return plan;
}

}  // namespace sailor::cli
