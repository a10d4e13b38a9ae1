// The parts of a TrainingJob that the trainer needs, as JSON with the field names of the manifest.
// Decimals are written as strings, as Kubernetes' conventions ask, and read from strings or numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "core/model/job_spec.h"

namespace sailor {

using Json = nlohmann::json;

// `path` is what errors call the object: "spec.model". Every error names one field and what it may be.
Json to_json(const ModelSpec& model);  // {"config": {...}}: complete, never a mere catalogue name
// A catalogue's `name`, or a `config`. A config without a name makes a model without one: the caller knows the job's.
Result<ModelSpec> model_from_json(const Json& json, const std::string& path);

Json to_json(const TrainingSpec& training);
Result<TrainingSpec> training_from_json(const Json& json, const std::string& path);

Json to_json(const DataSpec& data);
Result<DataSpec> data_from_json(const Json& json, const std::string& path);

Json to_json(const CheckpointSpec& checkpoint);
Result<CheckpointSpec> checkpoint_from_json(const Json& json, const std::string& path);

class JsonReader;
std::string_view to_string(Redundancy redundancy);
Redundancy read_redundancy(JsonReader& reader);  // the field `redundancy`; None where it is absent

// "0.25" or 0.25; anything else is recorded as this field's error.
std::optional<double> optional_decimal(JsonReader& reader, std::string_view key);

std::string_view to_string(SequenceParallelism wish);
SequenceParallelism read_sequence_parallelism(JsonReader& reader);  // the field; Never where it is absent

std::string_view to_string(Precision precision);  // "FP32", "BF16": as in manifests
Result<Precision> parse_precision(std::string_view text);

}  // namespace sailor
