#include "core/model/job_json.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/model/enum_names.h"
#include "core/model/json_reader.h"
#include "core/model/sort_unique.h"

namespace sailor {
namespace {

constexpr EnumName<Precision> kPrecisions[] = {{Precision::kFp32, "FP32"}, {Precision::kBf16, "BF16"}};
constexpr EnumName<ActivationCheckpointing> kActivationCheckpointing[] = {{ActivationCheckpointing::kNever, "Never"},
                                                                          {ActivationCheckpointing::kAlways, "Always"},
                                                                          {ActivationCheckpointing::kAuto, "Auto"}};
constexpr EnumName<SequenceParallelism> kSequenceParallelism[] = {{SequenceParallelism::kNever, "Never"},
                                                                  {SequenceParallelism::kAlways, "Always"}};
constexpr EnumName<LearningRateSchedule> kSchedules[] = {{LearningRateSchedule::kConstant, "Constant"},
                                                         {LearningRateSchedule::kCosine, "Cosine"},
                                                         {LearningRateSchedule::kLinear, "Linear"}};
constexpr EnumName<OnNonFinite> kOnNonFinite[] = {{OnNonFinite::kStop, "Stop"}, {OnNonFinite::kSkip, "Skip"}};
constexpr EnumName<Redundancy> kRedundancies[] = {
    {Redundancy::kAuto, "Auto"}, {Redundancy::kNone, "None"}, {Redundancy::kPeer, "Peer"}};
constexpr EnumName<DataFormat> kDataFormats[] = {
    {DataFormat::kBytes, "Bytes"}, {DataFormat::kTokens, "Tokens"}, {DataFormat::kMegatron, "Megatron"}};

template <class T>
Result<T> finished(T value, const JsonReader& reader) {
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return value;
}

std::string decimal(double value) { return fmt::format("{}", value); }

void require_positive(JsonReader& reader, std::string_view key, std::int64_t value) {
  if (!reader.error() && value < 1) reader.record(key, fmt::format("{} is below 1", value));
}

void require_above_zero(JsonReader& reader, std::string_view key, double value) {
  if (!(value > 0)) reader.record(key, fmt::format("{} is not above 0", value));
}

void require_below_one(JsonReader& reader, std::string_view key, double value) {
  if (!(value < 1)) reader.record(key, fmt::format("{} is not below 1", value));
}

// The sizes for a job that does not list any: powers of two that divide the global batch, up to 64.
std::vector<int> default_microbatch_sizes(int global_batch_size) {
  std::vector<int> sizes;
  for (int size = 1; size <= 64 && size <= global_batch_size; size *= 2) {
    if (global_batch_size % size == 0) sizes.push_back(size);
  }
  return sizes;
}

std::vector<int> microbatch_sizes_from(JsonReader& reader, int global_batch_size) {
  auto sizes = reader.optional<std::vector<int>>("microbatchSizes");
  if (!sizes) return default_microbatch_sizes(global_batch_size);
  if (std::ranges::any_of(*sizes, [](int size) { return size < 1; })) {
    reader.record("microbatchSizes", "each size must be at least 1");
    return {};
  }
  std::erase_if(*sizes, [=](int size) { return global_batch_size % size != 0; });
  sort_unique(*sizes);
  if (sizes->empty()) {
    reader.record("microbatchSizes",
                  fmt::format("none of these sizes divides globalBatchSize {}; add a divisor", global_batch_size));
  }
  return *sizes;
}

// Tensor-parallel sizes are powers of two, so no group could partition an odd number of tokens evenly.
SequenceParallelism sequence_parallelism_from(JsonReader& reader, int sequence_length) {
  const auto setting = read_sequence_parallelism(reader);
  if (!reader.error() && setting == SequenceParallelism::kAlways && sequence_length % 2 != 0) {
    reader.record(
        "sequenceParallelism",
        fmt::format("no group of GPUs can partition {} tokens evenly; make sequenceLength even, preferably a multiple "
                    "of the GPUs of a node",
                    sequence_length));
  }
  return setting;
}

Json to_json(const OptimizerSpec& optimizer) {
  Json json = {{"name", "adamw"},
               {"learningRate", decimal(optimizer.learning_rate)},
               {"weightDecay", decimal(optimizer.weight_decay)},
               {"beta1", decimal(optimizer.beta1)},
               {"beta2", decimal(optimizer.beta2)},
               {"epsilon", decimal(optimizer.epsilon)},
               {"warmupSteps", optimizer.warmup_steps},
               {"schedule", name_of(kSchedules, optimizer.schedule)}};
  if (optimizer.clip_norm) json["clipNorm"] = decimal(*optimizer.clip_norm);
  return json;
}

Result<OptimizerSpec> optimizer_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  OptimizerSpec spec;
  if (const auto name = reader.value_or<std::string>("name", "adamw"); name != "adamw") {
    reader.record("name", fmt::format("\"{}\" is unknown; use adamw", name));
  }
  spec.learning_rate = optional_decimal(reader, "learningRate").value_or(spec.learning_rate);
  spec.weight_decay = optional_decimal(reader, "weightDecay").value_or(spec.weight_decay);
  spec.beta1 = optional_decimal(reader, "beta1").value_or(spec.beta1);
  spec.beta2 = optional_decimal(reader, "beta2").value_or(spec.beta2);
  spec.epsilon = optional_decimal(reader, "epsilon").value_or(spec.epsilon);
  spec.warmup_steps = reader.value_or("warmupSteps", spec.warmup_steps);
  spec.schedule = read_enum(reader, "schedule", kSchedules, spec.schedule);
  spec.clip_norm = optional_decimal(reader, "clipNorm");
  require_above_zero(reader, "learningRate", spec.learning_rate);
  require_below_one(reader, "beta1", spec.beta1);
  require_below_one(reader, "beta2", spec.beta2);
  require_above_zero(reader, "epsilon", spec.epsilon);
  if (spec.warmup_steps < 0) reader.record("warmupSteps", fmt::format("{} is below 0", spec.warmup_steps));
  if (spec.clip_norm) require_above_zero(reader, "clipNorm", *spec.clip_norm);
  return finished(spec, reader);
}

EvaluationSpec evaluation_from(JsonReader& parent) {
  JsonReader reader(parent.child("evaluation"), parent.path_of("evaluation"));
  EvaluationSpec spec;
  spec.every_steps = reader.value_or("everySteps", spec.every_steps);
  require_positive(reader, "everySteps", spec.every_steps);
  spec.batches = reader.value_or("batches", spec.batches);
  require_positive(reader, "batches", spec.batches);
  if (const auto& error = reader.error()) parent.absorb(*error);
  return spec;
}

ValidationSpec validation_from(JsonReader& parent) {
  JsonReader reader(parent.child("validation"), parent.path_of("validation"));
  ValidationSpec spec{.path = reader.value_or<std::string>("path", ""), .fraction = {}};
  spec.fraction = optional_decimal(reader, "fraction");
  if (spec.path.empty() == !spec.fraction) {
    reader.record("path", "set either path (separate files) or fraction (the last part of the data), not both");
  }
  if (spec.fraction && !(*spec.fraction > 0 && *spec.fraction < 1)) {
    reader.record("fraction", fmt::format("{} is not between 0 and 1", *spec.fraction));
  }
  if (const auto& error = reader.error()) parent.absorb(*error);
  return spec;
}

Json to_json(const ValidationSpec& validation) {
  if (validation.fraction) return {{"fraction", decimal(*validation.fraction)}};
  return {{"path", validation.path}};
}

Json to_json(const ResumeFrom& resume_from) {
  Json json = {{"job", resume_from.job}};
  if (resume_from.step) json["step"] = *resume_from.step;
  return json;
}

ResumeFrom resume_from_of(JsonReader& reader) {
  JsonReader child(reader.child("resumeFrom"), reader.path_of("resumeFrom"));
  ResumeFrom resume_from{child.required<std::string>("job"), child.optional<std::int64_t>("step")};
  if (resume_from.job.empty()) child.record("job", "is empty; name the job whose checkpoints to begin with");
  if (resume_from.step) require_positive(child, "step", *resume_from.step);
  if (const auto& error = child.error()) reader.absorb(*error);
  return resume_from;
}

}  // namespace

std::string_view to_string(Redundancy redundancy) { return name_of(kRedundancies, redundancy); }

Redundancy read_redundancy(JsonReader& reader) {
  return read_enum(reader, "redundancy", kRedundancies, Redundancy::kAuto);
}

std::optional<double> optional_decimal(JsonReader& reader, std::string_view key) {
  const auto field = reader.optional<Json>(key);
  if (!field) return std::nullopt;
  const std::string text = field->is_string() ? field->get<std::string>() : field->is_number() ? field->dump() : "";
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value < 1e300)) {
    reader.record(key, fmt::format("{} is not a decimal number of at least 0, such as \"0.25\"", field->dump()));
    return std::nullopt;
  }
  return value;
}

std::string_view to_string(SequenceParallelism wish) { return name_of(kSequenceParallelism, wish); }

SequenceParallelism read_sequence_parallelism(JsonReader& reader) {
  return read_enum(reader, "sequenceParallelism", kSequenceParallelism, SequenceParallelism::kNever);
}

std::string_view to_string(Precision precision) { return name_of(kPrecisions, precision); }

Result<Precision> parse_precision(std::string_view text) {
  if (const auto value = value_of(kPrecisions, text)) return *value;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is not a precision; use {}", text, choices(kPrecisions)));
}

Json to_json(const TrainingSpec& training) {
  Json json = {{"globalBatchSize", training.global_batch_size},
               {"sequenceLength", training.sequence_length},
               {"microbatchSizes", training.microbatch_sizes},
               {"precision", to_string(training.precision)},
               {"activationCheckpointing", name_of(kActivationCheckpointing, training.activation_checkpointing)},
               {"sequenceParallelism", to_string(training.sequence_parallelism)},
               {"optimizer", to_json(training.optimizer)},
               {"steps", training.steps},
               {"seed", training.seed},
               {"onNonFinite", name_of(kOnNonFinite, training.on_non_finite)}};
  if (!training.initial_weights.empty()) json["initialWeights"] = training.initial_weights;
  if (training.evaluation) {
    json["evaluation"] = {{"everySteps", training.evaluation->every_steps}, {"batches", training.evaluation->batches}};
  }
  return json;
}

Result<TrainingSpec> training_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  TrainingSpec spec;
  spec.global_batch_size = reader.required<int>("globalBatchSize");
  require_positive(reader, "globalBatchSize", spec.global_batch_size);
  spec.sequence_length = reader.required<int>("sequenceLength");
  require_positive(reader, "sequenceLength", spec.sequence_length);
  spec.steps = reader.required<std::int64_t>("steps");
  require_positive(reader, "steps", spec.steps);
  spec.seed = reader.value_or<std::uint64_t>("seed", 1);
  spec.precision = read_enum(reader, "precision", kPrecisions, spec.precision);
  spec.activation_checkpointing =
      read_enum(reader, "activationCheckpointing", kActivationCheckpointing, spec.activation_checkpointing);
  spec.sequence_parallelism = sequence_parallelism_from(reader, spec.sequence_length);
  if (!reader.error()) spec.microbatch_sizes = microbatch_sizes_from(reader, spec.global_batch_size);
  const auto optimizer = optimizer_from_json(reader.child("optimizer"), reader.path_of("optimizer"));
  if (optimizer) spec.optimizer = *optimizer;
  if (!optimizer) reader.absorb(optimizer.error());
  spec.initial_weights = reader.value_or<std::string>("initialWeights", "");
  spec.on_non_finite = read_enum(reader, "onNonFinite", kOnNonFinite, spec.on_non_finite);
  if (reader.has("evaluation")) spec.evaluation = evaluation_from(reader);
  return finished(std::move(spec), reader);
}

Json to_json(const DataSpec& data) {
  Json json = {{"format", name_of(kDataFormats, data.format)}, {"path", data.path}};
  if (data.validation) json["validation"] = to_json(*data.validation);
  return json;
}

Result<DataSpec> data_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  DataSpec spec;
  spec.format = read_enum(reader, "format", kDataFormats, spec.format);
  spec.path = reader.required<std::string>("path");
  if (reader.has("validation")) spec.validation = validation_from(reader);
  return finished(std::move(spec), reader);
}

Json to_json(const CheckpointSpec& checkpoint) {
  Json json = {{"path", checkpoint.path}, {"keep", checkpoint.keep}};
  if (checkpoint.every_steps) json["everySteps"] = *checkpoint.every_steps;
  if (checkpoint.every_seconds) json["everySeconds"] = *checkpoint.every_seconds;
  if (checkpoint.resume_from) json["resumeFrom"] = to_json(*checkpoint.resume_from);
  return json;
}

Result<CheckpointSpec> checkpoint_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  CheckpointSpec spec;
  spec.path = reader.value_or<std::string>("path", "");
  spec.every_steps = reader.optional<std::int64_t>("everySteps");
  if (spec.every_steps) require_positive(reader, "everySteps", *spec.every_steps);
  spec.every_seconds = reader.optional<std::int64_t>("everySeconds");
  if (spec.every_seconds) require_positive(reader, "everySeconds", *spec.every_seconds);
  spec.keep = reader.value_or("keep", spec.keep);
  require_positive(reader, "keep", spec.keep);
  if (reader.has("resumeFrom")) spec.resume_from = resume_from_of(reader);
  return finished(std::move(spec), reader);
}

}  // namespace sailor
