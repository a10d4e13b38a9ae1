// The commands `sailor-trainer import` and `sailor-trainer export`. `import` prints how to train a Hugging Face model.
// `export` turns a checkpoint into a Hugging Face model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/model/error.h"

namespace sailor::trainer {

// Checks that the trainer can train the model in this folder. Returns the part of a TrainingJob's spec that names the
// model and its weights, as YAML.
Result<std::string> import_model(const std::filesystem::path& folder);

struct ExportOptions {
  std::filesystem::path checkpoints;  // the folder of one job: <checkpoint.path>/<namespace>/<job>/<uid>
  std::optional<std::int64_t> step;   // the step of the checkpoint; if absent, the newest complete one
  std::filesystem::path into;         // the folder to which the model is written
};

// Writes the weights of a checkpoint as a Hugging Face model. Returns the step of the checkpoint.
Result<std::int64_t> export_model(const ExportOptions& options);

}  // namespace sailor::trainer
