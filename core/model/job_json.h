// The parts of a TrainingJob that the trainer needs, as JSON with the field names of the manifest. Decimals are written
// as strings, as the API conventions of Kubernetes ask, and read from strings or numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "core/model/job_spec.h"

namespace sailor {

using Json = nlohmann::json;

// `path` is the name of the object in error messages, such as "spec.model". Every error names one field and the values
// that are allowed.

Json to_json(const ModelSpec& model);  // {"config": {...}}: always the complete configuration
// Reads a `name` from the catalogue, or a `config`. A config without a name gives a model without one: the caller fills
// in the job's name.
Result<ModelSpec> model_from_json(const Json& json, const std::string& path);

Json to_json(const TrainingSpec& training);
Result<TrainingSpec> training_from_json(const Json& json, const std::string& path);

Json to_json(const DataSpec& data);
Result<DataSpec> data_from_json(const Json& json, const std::string& path);

Json to_json(const CheckpointSpec& checkpoint);
Result<CheckpointSpec> checkpoint_from_json(const Json& json, const std::string& path);

class JsonReader;
std::string_view to_string(Redundancy redundancy);
Redundancy read_redundancy(JsonReader& reader);  // the field `redundancy`; Auto if it is absent

// Reads "0.25" or 0.25. Records an error for anything that is not a decimal number of at least 0.
std::optional<double> optional_decimal(JsonReader& reader, std::string_view key);

std::string_view to_string(SequenceParallelism setting);
SequenceParallelism read_sequence_parallelism(JsonReader& reader);  // the field of that name; Never if it is absent

std::string_view to_string(Precision precision);  // "FP32" or "BF16", as in manifests
Result<Precision> parse_precision(std::string_view text);

}  // namespace sailor
