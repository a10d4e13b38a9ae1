#include "operator/model/run_settings.h"

#include <utility>

#include "core/model/json_reader.h"

namespace sailor {

RunSettings run_settings_of(const JobSpec& job) {
  return {.training = job.training,
          .checkpoint = job.checkpoint,
          .streaming_slowdown_percent = job.streaming_slowdown_percent};
}

bool must_be_told(const RunSettings& before, const RunSettings& after) {
  return before.training.steps != after.training.steps || before.training.evaluation != after.training.evaluation ||
         before.checkpoint != after.checkpoint;
}

Json to_json(const RunSettings& settings) {
  return {{"training", to_json(settings.training)},
          {"checkpoint", to_json(settings.checkpoint)},
          {"streamingSlowdownPercent", settings.streaming_slowdown_percent}};
}

Result<RunSettings> run_settings_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  RunSettings settings;
  auto training = training_from_json(reader.child("training"), reader.path_of("training"));
  auto checkpoint = checkpoint_from_json(reader.child("checkpoint"), reader.path_of("checkpoint"));
  if (!training) return tl::unexpected(training.error());
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  settings.training = *std::move(training);
  settings.checkpoint = *std::move(checkpoint);
  settings.streaming_slowdown_percent = reader.value_or("streamingSlowdownPercent", kStreamingSlowdownPercent);
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return settings;
}

}  // namespace sailor
