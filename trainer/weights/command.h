// The commands `sailor-trainer import` and `sailor-trainer export`: between a Hugging Face model's folder and a job.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/model/error.h"

namespace sailor::trainer {

// Checks that the folder's weights can be trained on, and gives the part of a TrainingJob's spec that does so.
Result<std::string> import_model(const std::filesystem::path& folder);

struct ExportOptions {
  std::filesystem::path checkpoints;  // of one job: <checkpoint.path>/<namespace>/<job>/<uid>
  std::optional<std::int64_t> step;   // absent: the newest complete one
  std::filesystem::path into;         // the new model's folder
};

// Writes a checkpoint's weights as a Hugging Face model; returns the step.
Result<std::int64_t> export_model(const ExportOptions& options);

}  // namespace sailor::trainer
