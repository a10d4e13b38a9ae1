// Converts between the config.json of a Hugging Face model and a ModelSpec.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/model_spec.h"

namespace sailor::trainer {

// Returns the ModelSpec of a config.json. Fails if the model needs something that our layers do not compute, such as
// scaled rotary frequencies, or biases in a family without biases.
Result<ModelSpec> spec_from_hugging_face_config(const nlohmann::json& config, const std::string& name);
// Reads the config.json in this folder. The model gets the name of the folder.
Result<ModelSpec> read_hugging_face_config(const std::filesystem::path& folder);

// Returns the config.json of a ModelSpec. Fails if the Hugging Face model of the family cannot express the spec, for
// example an OPT model with local attention. A model with rotary positions is said to have been trained with sequences
// of this length; 0: the length is unknown.
Result<nlohmann::json> hugging_face_config(const ModelSpec& spec, int sequence_length = 0);

}  // namespace sailor::trainer
