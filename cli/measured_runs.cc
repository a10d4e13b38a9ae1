#include "cli/measured_runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/manifest/artifact.h"
#include "core/model/json_reader.h"
#include "core/model/model_spec.h"
#include "core/model/size_limits.h"

namespace sailor::cli {
namespace {

struct KnownFlaw {
  std::string_view file;
  MeasurementFlaw flaw;
};

constexpr std::array<KnownFlaw, 3> kKnownFlaws = {
    {{"clariden_GPT-NEO_N8_N8_D2.json", {"", "another run with the same work per GPU takes 37.3 GB"}},
     {"clariden_GPT-NEO_N2_N2_D1.json", {"85 ms of its single microbatch are unexplained", ""}},
     {"mit_N2_N2_D1.json", {"", "less than one microbatch and its optimizer state need"}}}};

using Json = nlohmann::json;

constexpr std::string_view kRemedy = "correct the record or remove it from the folder";

struct RecordError {
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;  // the record is corrupt
};

// The record is valid, but Plan cannot represent it.
RecordError not_a_plan(std::string message) { return {std::move(message), ErrorCode::kInfeasible}; }

template <class T>
T required(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) throw RecordError{fmt::format("{}: is missing; {}", key, kRemedy)};
  try {
    return json.at(key).get<T>();
  } catch (const Json::exception&) {
    throw RecordError{fmt::format("{}: is of the wrong type; {}", key, kRemedy)};
  }
}

double above_zero(const Json& json, const char* key) {
  const auto value = required<double>(json, key);
  if (!(value > 0) || !(value < 1e18))
    throw RecordError{fmt::format("{}: {} is not a number above 0; {}", key, value, kRemedy)};
  return value;
}

// Reads a double first, so that a number beyond the range of int does not wrap around.
int whole(const Json& json, const std::string& path, int min, int max) {
  const double value = json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!(value >= min) || !(value <= max) || value != std::floor(value)) {
    throw RecordError{
        fmt::format("{}: {} is not a whole number from {} to {}; {}", path, json.dump(), min, max, kRemedy)};
  }
  return static_cast<int>(value);
}

int count(const Json& json, const char* key) {
  constexpr int kMax = 1'000'000;
  return whole(required<Json>(json, key), key, 1, kMax);
}

// The model is in the file's name, not in the record.
std::string model_of(const std::string& file) {
  if (file.starts_with("mit_") || file.find("OPT-350") != std::string::npos) return "opt-350m";
  if (file.find("GPT-NEO") != std::string::npos) return "gpt-neo-2.7b";
  throw not_a_plan("the file's name does not contain a model; add OPT-350 or GPT-NEO to it");
}

// Reads [[["GH-96", 4, "us-central1-a"], ...], 4]: the GPUs of the group by node, and its size (tensor_parallel).
Replica replica_of(const Json& json, const std::string& path) {
  const bool has_shape = json.is_array() && json.size() == 2 && json[0].is_array() && !json[0].empty();
  if (!has_shape) throw RecordError{fmt::format("{}: is not [[[gpu, count, zone], ...], size]; {}", path, kRemedy)};
  const Json& node = json[0][0];
  if (json[0].size() != 1)
    throw not_a_plan(path + ": Sailor does not support a tensor-parallel group over several nodes");
  if (!node.is_array() || node.size() != 3 || !node[0].is_string() || !node[1].is_number_integer() ||
      !node[2].is_string()) {
    throw RecordError{fmt::format("{}: is not [gpu, count, zone]; {}", path, kRemedy)};
  }
  const auto accelerator = artifact_accelerator(node[0].get<std::string>());
  if (!accelerator) throw not_a_plan(path + ": " + accelerator.error().message);
  const int tensor_parallel = whole(json[1], path + "[1]", 1, kMostGpusOfANode);
  return {{Zone(node[2].get<std::string>()), *accelerator, Provisioning::kOnDemand}, tensor_parallel, 0};
}

// A stage ranges from its first to its last layer. The layers between them are wrong in some records.
Stage stage_of(const Json& layers, const Json& replicas, int index) {
  const std::string path = fmt::format("layers_per_stage[{}]", index);
  constexpr int kMaxLayers = 10'000;
  if (!layers.is_array() || layers.empty())
    throw RecordError{fmt::format("{}: is not a list of layers; {}", path, kRemedy)};
  if (!replicas.is_array())
    throw RecordError{fmt::format("tmp_per_stage[{}]: is not a list of replicas; {}", index, kRemedy)};
  Stage stage{whole(layers.front(), path, 0, kMaxLayers), whole(layers.back(), path, 0, kMaxLayers) + 1, {}};
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    stage.replicas.push_back(replica_of(replicas[r], fmt::format("tmp_per_stage[{}][{}]", index, r)));
  }
  if (stage.replicas.empty()) throw RecordError{fmt::format("tmp_per_stage[{}]: is empty; {}", index, kRemedy)};
  return stage;
}

void assign_microbatches(Plan& plan) {
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
  if (!pipelines.is_array() || pipelines.size() != 1) throw not_a_plan("pipeline_list: expected one pipeline");
  const auto layers = required<Json>(pipelines[0], "layers_per_stage");
  const auto replicas = required<Json>(pipelines[0], "tmp_per_stage");
  if (!layers.is_array() || !replicas.is_array() || layers.size() != replicas.size()) {
    throw RecordError{fmt::format("tmp_per_stage: does not have as many stages as layers_per_stage; {}", kRemedy)};
  }
  MeasuredRun run;
  run.file = file;
  run.job.key = {"", file};
  run.job.model = find_model(model_of(file)).value();
  run.job.model.tied_embeddings = false;  // as in the profiles that belong to the runs
  run.plan = {run.job.model.name, count(json, "gbs"), count(json, "mbs"), {}};
  run.job.training.global_batch_size = run.plan.global_batch_size;
  run.job.training.sequence_length = 2048;  // the same in all these runs
  run.job.training.microbatch_sizes = {run.plan.microbatch_size};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    run.plan.stages.push_back(stage_of(layers[i], replicas[i], static_cast<int>(i)));
  }
  assign_microbatches(run.plan);
  if (auto checked = check_well_formed(run.plan, run.job); !checked) throw not_a_plan(checked.error().message);
  run.time = json.contains("real") ? Seconds(above_zero(json, "real")) : Seconds(0);
  run.memory = json.contains("max_mem") ? Bytes(above_zero(json, "max_mem")) : Bytes(0);
  return run;
}

Result<MeasuredRun> read_run(const std::filesystem::path& file) {
  const auto json = read_json_file(file);
  if (!json) return tl::unexpected(json.error());
  try {
    return run_of(*json, file.filename().string());
  } catch (const RecordError& error) {
    return fail(error.code, fmt::format("{}: {}", file.string(), error.message));
  }
}

}  // namespace

MeasurementFlaw known_flaw_of(std::string_view file) {
  const auto known = std::ranges::find(kKnownFlaws, file, &KnownFlaw::file);
  return known == kKnownFlaws.end() ? MeasurementFlaw{} : known->flaw;
}

Result<std::vector<RunRecord>> read_runs(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: is not a folder; use a folder with measured runs", folder.string()));
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (files.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: contains no JSON file; use a folder with measured runs", folder.string()));
  }
  std::ranges::sort(files);
  std::vector<RunRecord> records;
  records.reserve(files.size());
  for (const auto& file : files) records.push_back({file.filename().string(), read_run(file)});
  return records;
}

}  // namespace sailor::cli
