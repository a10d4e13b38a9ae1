#include "trainer/checkpoint/folders.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "core/model/check.h"
#include "core/model/job_json.h"
#include "core/model/json_reader.h"
#include "core/model/parse_number.h"
#include "trainer/checkpoint/durable_file.h"
#include "trainer/checkpoint/shard_file.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTryPrefix = "try-";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kSetAside = "manifest.refused.json";
constexpr int kFormat = 2;

std::vector<ShardFileName> files_from(JsonReader& reader) {
  std::vector<ShardFileName> files;
  for (const auto& entry : reader.required<std::vector<std::vector<int>>>("images")) {
    if (entry.size() != 2) {
      reader.record("images", "each has two numbers: layer state, writer");
      return {};
    }
    files.push_back({entry[0], entry[1]});
  }
  return files;
}

std::optional<std::int64_t> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  return parse_number<std::int64_t>(std::string_view(name).substr(kStepPrefix.size()));
}

// Returns all steps that have a folder, newest first.
std::vector<std::int64_t> all_steps(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto step = step_of(entry->path())) steps.push_back(*step);
  }
  std::ranges::sort(steps, std::greater<>());
  return steps;
}

void remove_checkpoint(const fs::path& folder) {
  std::error_code ignored;                  // deletion is tried again after the next checkpoint
  fs::remove(folder / kManifest, ignored);  // first, because half a checkpoint must not look complete
  fs::remove_all(folder, ignored);
}

// `newest` was written just now. So the clock of the file server tells which files nobody writes any more.
void remove_abandoned_tries(const fs::path& folder, const fs::path& newest) {
  constexpr std::chrono::hours kLongestTry{1};
  std::error_code error;
  const auto now = fs::last_write_time(newest, error);
  if (error) return;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kTryPrefix)) continue;
    std::error_code ignored;  // another worker may delete it first
    const auto written = entry->last_write_time(ignored);
    if (!ignored && now - written > kLongestTry) fs::remove(entry->path(), ignored);
  }
}

bool is_complete(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kManifest, error);
}

}  // namespace

fs::path checkpoint_folder(const Assignment& assignment) {
  return checkpoint_folder(assignment.checkpoint.path, assignment.job, assignment.job_uid);
}

fs::path checkpoint_folder(const std::string& path, const JobKey& job, const std::string& job_uid) {
  if (path.empty()) return {};
  return runs_folder(path, job) / job_uid;
}

fs::path runs_folder(const std::string& path, const JobKey& job) {
  return fs::path(path) / job.namespace_name / job.name;
}

fs::path step_folder(const fs::path& folder, std::int64_t step) {
  return folder / fmt::format("{}{:08}", kStepPrefix, step);
}

Result<void> write_manifest(const fs::path& step_folder, const Manifest& manifest) {
  auto files = nlohmann::json::array();
  for (const ShardFileName& name : manifest.files) {
    files.push_back({name.layer_state, name.writer});
    std::error_code error;
    if (!fs::exists(shard_file(step_folder, name), error)) {
      return fail(
          ErrorCode::kUnavailable,
          fmt::format("completing checkpoint {}: layer state {} was written by another pod and is not visible here; "
                      "checkpoint.path must be a volume that all pods of the job share",
                      step_folder.string(), name.layer_state));
    }
  }
  const std::string text = nlohmann::json{{"format", kFormat},
                                          {"step", manifest.step},
                                          {"firstLoss", manifest.first_loss},
                                          {"loss", manifest.loss},
                                          {"sequenceLength", manifest.sequence_length},
                                          {"model", to_json(manifest.model)},
                                          {"images", std::move(files)}}
                               .dump(2) +
                           "\n";
  return write_durably(step_folder / kManifest, {bytes_of(text)});
}

Result<Manifest> read_manifest(const fs::path& step_folder) {
  const fs::path file = step_folder / kManifest;
  std::ifstream stream(file);
  if (!stream) return damaged(file, std::strerror(errno));
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  JsonReader reader(json, "manifest");
  if (const int format = reader.required<int>("format"); !reader.error() && format != kFormat)
    reader.record("format", fmt::format("{} is not {}, the format that this trainer reads", format, kFormat));
  Manifest manifest{.step = reader.required<std::int64_t>("step"),
                    .first_loss = reader.required<double>("firstLoss"),
                    .model = {},
                    .files = files_from(reader),
                    .loss = reader.value_or("loss", 0.0),
                    .sequence_length = reader.value_or("sequenceLength", 0)};
  if (!reader.error() && manifest.step != step_of(step_folder))
    reader.record("step", fmt::format("{} is not the step in the name of its folder", manifest.step));
  auto model = model_from_json(reader.child("model"), "manifest.model");
  if (model) {
    manifest.model = *std::move(model);
  } else {
    reader.absorb(model.error());
  }
  if (reader.error()) return damaged(file, reader.error()->message);
  return manifest;
}

Result<void> set_aside(const fs::path& step_folder) {
  std::error_code error;
  fs::rename(step_folder / kManifest, step_folder / kSetAside, error);
  if (!error) return {};
  return fail(ErrorCode::kUnavailable,
              fmt::format("renaming the manifest of checkpoint {}: {}", step_folder.string(), error.message()));
}

// Several workers may try the same folder at once, so each writes a file of its own.
Result<void> try_to_write(const fs::path& folder) {
  const fs::path file =
      folder / fmt::format("{}{:08x}{:08x}", kTryPrefix, std::random_device{}(), std::random_device{}());
  auto written = write_durably(file, {bytes_of("Sailor tries whether it can write here.\n")});
  if (written) remove_abandoned_tries(folder, file);
  std::error_code ignored;  // a file that cannot be deleted does no harm
  fs::remove(file, ignored);
  if (!written) return tl::unexpected(std::move(written).error().within("trying to save before the first checkpoint"));
  return {};
}

std::vector<std::int64_t> complete_checkpoints(const fs::path& folder) {
  std::vector<std::int64_t> steps = all_steps(folder);
  std::erase_if(steps, [&](std::int64_t step) { return !is_complete(step_folder(folder, step)); });
  return steps;
}

std::vector<std::vector<fs::path>> checkpoints_of_runs(const std::string& path, const JobKey& job,
                                                       const std::string& except) {
  std::multimap<fs::file_time_type, std::vector<fs::path>, std::greater<>> runs;  // by their newest checkpoint
  std::error_code error;
  fs::directory_iterator run(runs_folder(path, job), error);
  for (; !error && run != fs::directory_iterator(); run.increment(error)) {
    const auto steps = complete_checkpoints(run->path());
    if (steps.empty() || run->path().filename() == except) continue;
    std::error_code is_deleted;
    const auto time = fs::last_write_time(step_folder(run->path(), steps.front()) / kManifest, is_deleted);
    if (is_deleted) continue;
    const auto placed = runs.emplace(time, std::vector<fs::path>());
    for (const std::int64_t step : steps) placed->second.push_back(step_folder(run->path(), step));
  }
  std::vector<std::vector<fs::path>> newest_first;
  for (auto& [time, checkpoints] : runs) newest_first.push_back(std::move(checkpoints));
  return newest_first;
}

std::chrono::seconds age_of_checkpoint(const fs::path& step_folder) {
  std::error_code error;
  const auto written = fs::last_write_time(step_folder / kManifest, error);
  if (error) return std::chrono::seconds(0);
  const auto age = std::chrono::floor<std::chrono::seconds>(fs::file_time_type::clock::now() - written);
  return std::max(age, std::chrono::seconds(0));  // the clock of a file server may be ahead
}

void delete_old_checkpoints(const fs::path& folder, int keep) {
  const std::vector<std::int64_t> complete = complete_checkpoints(folder);
  if (complete.empty()) return;
  for (std::size_t i = static_cast<std::size_t>(std::max(keep, 1)); i < complete.size(); ++i) {
    remove_checkpoint(step_folder(folder, complete[i]));
  }
  delete_incomplete_checkpoints(folder, complete.front());
}

void delete_incomplete_checkpoints(const fs::path& folder, std::int64_t before) {
  for (const std::int64_t step : all_steps(folder)) {
    if (step < before && !is_complete(step_folder(folder, step))) remove_checkpoint(step_folder(folder, step));
  }
}

}  // namespace sailor::trainer
