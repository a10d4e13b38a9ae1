// config.json of a Hugging Face model: read into a ModelSpec, and written from one.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/model_spec.h"

namespace sailor::trainer {

// What our layers do not compute (scaled rotary frequencies, biases where the family has none, ...) is refused.
Result<ModelSpec> spec_from_config(const nlohmann::json& config, const std::string& name);
Result<ModelSpec> read_config(const std::filesystem::path& folder);  // its config.json; named after the folder

// A spec that the family's Hugging Face model cannot express (an OPT with local attention, say) is refused.
Result<nlohmann::json> config_of(const ModelSpec& spec);

}  // namespace sailor::trainer
