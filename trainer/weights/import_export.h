// The commands `sailor-trainer import` and `sailor-trainer export`: train a Hugging Face model, and turn a checkpoint
// into one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/model/error.h"

namespace sailor::trainer {

// Checks that the trainer can train the model in this folder. Returns the part of a TrainingJob's spec that does so, as
// YAML.
Result<std::string> import_model(const std::filesystem::path& folder);

struct ExportOptions {
  std::filesystem::path checkpoints;  // of one job: <checkpoint.path>/<namespace>/<job>/<uid>
  std::optional<std::int64_t> step;   // if absent, the newest complete checkpoint
  std::filesystem::path into;         // folder for the model
};

// Writes the weights of a checkpoint as a Hugging Face model. Returns the step of the checkpoint.
Result<std::int64_t> export_model(const ExportOptions& options);

}  // namespace sailor::trainer
