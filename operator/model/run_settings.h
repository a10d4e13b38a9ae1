// RunSettings: what the workers of a generation are told of the job's spec. A generation keeps them as they were when
// it was made, because its agents may learn of it minutes apart, and all its workers must do the same: a worker that
// ends or evaluates after another step than the rest would leave them waiting.
#pragma once

#include "core/model/job_json.h"
#include "core/model/job_spec.h"

namespace sailor {

struct RunSettings {
  TrainingSpec training;
  CheckpointSpec checkpoint;
  int streaming_slowdown_percent = kStreamingSlowdownPercent;
  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

RunSettings run_settings_of(const JobSpec& job);

// Returns whether workers with the settings `before` must be told that they have changed. A change of
// streaming_slowdown_percent can wait for the next generation, which it is about.
bool must_be_told(const RunSettings& before, const RunSettings& after);

Json to_json(const RunSettings& settings);
// Fails with a sentence that names the field if it is not such settings.
Result<RunSettings> run_settings_from_json(const Json& json, const std::string& path);

}  // namespace sailor
