#include "cli/measured_runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/manifest/artifact.h"
#include "core/model/json_reader.h"
#include "core/model/model_spec.h"

namespace sailor::cli {
namespace {

struct KnownSuspicion {
  std::string_view file;
  Suspicion suspicion;
};

constexpr std::array<KnownSuspicion, 3> kSuspicions = {
    {{"clariden_GPT-NEO_N8_N8_D2.json", {"", "the same work per GPU takes 37.3 GB in another run"}},
     {"clariden_GPT-NEO_N2_N2_D1.json", {"one microbatch, of whose time 85 ms are unexplained", ""}},
     {"mit_N2_N2_D1.json", {"", "less than one microbatch and its optimizer state need"}}}};

using Json = nlohmann::json;

constexpr std::string_view kRemedy = "correct the record or take it out of the folder";

struct Wrong {
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;  // the record is corrupt
};

// A record of something that a plan cannot say.
Wrong no_plan(std::string message) { return {std::move(message), ErrorCode::kInfeasible}; }

template <class T>
T required(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) throw Wrong{fmt::format("{}: is missing; {}", key, kRemedy)};
  try {
    return json.at(key).get<T>();
  } catch (const Json::exception&) {
    throw Wrong{fmt::format("{}: is of another type than expected; {}", key, kRemedy)};
  }
}

double above_zero(const Json& json, const char* key) {
  const auto value = required<double>(json, key);
  if (!(value > 0) || !(value < 1e18)) throw Wrong{fmt::format("{}: {} is no number above 0; {}", key, value, kRemedy)};
  return value;
}

// As a double first: a number that no int holds must not wrap around.
int whole(const Json& json, const std::string& path, int least, int most) {
  const double value = json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!(value >= least) || !(value <= most) || value != std::floor(value)) {
    throw Wrong{fmt::format("{}: {} is no whole number from {} to {}; {}", path, json.dump(), least, most, kRemedy)};
  }
  return static_cast<int>(value);
}

int count(const Json& json, const char* key) {
  constexpr int kMost = 1'000'000;
  return whole(required<Json>(json, key), key, 1, kMost);
}

// The records do not name their model; the names of their files do.
std::string model_of(const std::string& file) {
  if (file.starts_with("mit_") || file.find("OPT-350") != std::string::npos) return "opt-350m";
  if (file.find("GPT-NEO") != std::string::npos) return "gpt-neo-2.7b";
  throw no_plan("the file's name has no model; put OPT-350 or GPT-NEO into it");
}

// [[["GH-96", 4, "us-central1-a"], ...], 4]: the GPUs of the group, by node, and its degree.
Replica replica_of(const Json& json, const std::string& path) {
  constexpr int kMostGpus = 1024;  // of a group
  const bool has_shape = json.is_array() && json.size() == 2 && json[0].is_array() && !json[0].empty();
  if (!has_shape) throw Wrong{fmt::format("{}: is not [[[gpu, count, zone], ...], degree]; {}", path, kRemedy)};
  const Json& node = json[0][0];
  if (json[0].size() != 1) throw no_plan(path + ": a tensor-parallel group over several nodes is no plan of ours");
  if (!node.is_array() || node.size() != 3 || !node[0].is_string() || !node[1].is_number_integer() ||
      !node[2].is_string()) {
    throw Wrong{fmt::format("{}: is not [gpu, count, zone]; {}", path, kRemedy)};
  }
  const auto accelerator = artifact_accelerator(node[0].get<std::string>());
  if (!accelerator) throw no_plan(path + ": " + accelerator.error().message);
  const int degree = whole(json[1], path + "[1]", 1, kMostGpus);
  return {{Zone(node[2].get<std::string>()), *accelerator, Provisioning::kOnDemand}, degree, 0};
}

// A stage is from its first to its last layer: some records have slips between them.
Stage stage_of(const Json& layers, const Json& replicas, int index) {
  const std::string path = fmt::format("layers_per_stage[{}]", index);
  constexpr int kMostLayers = 10'000;
  if (!layers.is_array() || layers.empty()) throw Wrong{fmt::format("{}: is no list of layers; {}", path, kRemedy)};
  if (!replicas.is_array()) throw Wrong{fmt::format("tmp_per_stage[{}]: is no list of replicas; {}", index, kRemedy)};
  Stage stage{whole(layers.front(), path, 0, kMostLayers), whole(layers.back(), path, 0, kMostLayers) + 1, {}};
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    stage.replicas.push_back(replica_of(replicas[r], fmt::format("tmp_per_stage[{}][{}]", index, r)));
  }
  if (stage.replicas.empty()) throw Wrong{fmt::format("tmp_per_stage[{}]: is empty; {}", index, kRemedy)};
  return stage;
}

void deal(Plan& plan) {
  for (Stage& stage : plan.stages) {
    const auto replicas = static_cast<int>(stage.replicas.size());
    for (int r = 0; r < replicas; ++r) {
      stage.replicas[static_cast<std::size_t>(r)].microbatches =
          plan.microbatches() / replicas + (r < plan.microbatches() % replicas ? 1 : 0);
    }
  }
}

MeasuredRun run_of(const Json& json, const std::string& file) {
  const auto pipelines = required<Json>(json, "pipeline_list");
  if (!pipelines.is_array() || pipelines.size() != 1) throw no_plan("pipeline_list: one pipeline was expected");
  const auto layers = required<Json>(pipelines[0], "layers_per_stage");
  const auto replicas = required<Json>(pipelines[0], "tmp_per_stage");
  if (!layers.is_array() || !replicas.is_array() || layers.size() != replicas.size()) {
    throw Wrong{fmt::format("tmp_per_stage: has not as many stages as layers_per_stage; {}", kRemedy)};
  }
  MeasuredRun run;
  run.file = file;
  run.job.key = {"", file};
  run.job.model = find_model(model_of(file)).value();
  run.plan = {run.job.model.name, count(json, "gbs"), count(json, "mbs"), {}};
  run.job.training.global_batch_size = run.plan.global_batch_size;
  run.job.training.sequence_length = 2048;  // of all these runs
  run.job.training.microbatch_sizes = {run.plan.microbatch_size};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    run.plan.stages.push_back(stage_of(layers[i], replicas[i], static_cast<int>(i)));
  }
  deal(run.plan);
  if (auto checked = check_well_formed(run.plan, run.job); !checked) throw no_plan(checked.error().message);
  run.time = json.contains("real") ? Seconds(above_zero(json, "real")) : Seconds(0);
  run.memory = json.contains("max_mem") ? Bytes(above_zero(json, "max_mem")) : Bytes(0);
  return run;
}

Result<MeasuredRun> read_run(const std::filesystem::path& file) {
  const auto json = read_json_file(file);
  if (!json) return tl::unexpected(json.error());
  try {
    return run_of(*json, file.filename().string());
  } catch (const Wrong& wrong) {
    return fail(wrong.code, fmt::format("{}: {}", file.string(), wrong.message));
  }
}

}  // namespace

Suspicion suspicion_of(std::string_view file) {
  const auto known = std::ranges::find(kSuspicions, file, &KnownSuspicion::file);
  return known == kSuspicions.end() ? Suspicion{} : known->suspicion;
}

Result<std::vector<RunRecord>> read_runs(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: is no folder; name one with measured runs", folder.string()));
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (files.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: holds no JSON file; name a folder with measured runs", folder.string()));
  }
  std::ranges::sort(files);
  std::vector<RunRecord> records;
  records.reserve(files.size());
  for (const auto& file : files) records.push_back({file.filename().string(), read_run(file)});
  return records;
}

}  // namespace sailor::cli
