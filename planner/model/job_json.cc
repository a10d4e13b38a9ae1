#include "planner/model/job_json.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "planner/model/enum_names.h"
#include "planner/model/json_reader.h"

namespace sailor {
namespace {

constexpr EnumName<Precision> kPrecisions[] = {{Precision::kFp32, "FP32"}, {Precision::kBf16, "BF16"}};
constexpr EnumName<ActivationCheckpointing> kActivationCheckpointing[] = {{ActivationCheckpointing::kNever, "Never"},
                                                                          {ActivationCheckpointing::kAlways, "Always"},
                                                                          {ActivationCheckpointing::kAuto, "Auto"}};
constexpr EnumName<LearningRateSchedule> kSchedules[] = {{LearningRateSchedule::kConstant, "Constant"},
                                                         {LearningRateSchedule::kCosine, "Cosine"},
                                                         {LearningRateSchedule::kLinear, "Linear"}};
constexpr EnumName<DataFormat> kDataFormats[] = {
    {DataFormat::kBytes, "Bytes"}, {DataFormat::kTokens, "Tokens"}, {DataFormat::kMegatron, "Megatron"}};

template <class T>
Result<T> finished(T value, const JsonReader& reader) {
  if (reader.error()) return tl::unexpected(*reader.error());
  return value;
}

std::string decimal(double value) { return fmt::format("{}", value); }

void require_positive(JsonReader& reader, std::string_view key, std::int64_t value) {
  if (!reader.error() && value < 1) reader.record(key, fmt::format("{} is below 1", value));
}

ModelSpec config_from(JsonReader& reader) {
  ModelSpec spec;
  spec.name = reader.value_or<std::string>("name", "");
  const auto family = parse_model_family(reader.value_or<std::string>("family", "gpt2"));
  if (family) spec.family = *family;
  if (!family) reader.record("family", family.error().message);
  const bool is_llama = spec.family == ModelFamily::kLlama;
  spec.blocks = reader.required<int>("layers");
  spec.hidden_size = reader.required<int>("hiddenSize");
  spec.heads = reader.required<int>("heads");
  spec.kv_heads = reader.value_or("kvHeads", spec.heads);
  spec.ffn_size = reader.value_or("ffnSize", 4 * spec.hidden_size);
  spec.vocab_size = reader.required<int>("vocabSize");
  if (is_llama && reader.has("maxPositions")) {
    reader.record("maxPositions", "the family llama has rotary positions and no table of them; omit maxPositions");
  }
  spec.max_positions = is_llama ? 0 : reader.value_or("maxPositions", 2048);
  spec.tied_embeddings = reader.value_or("tiedEmbeddings", !is_llama);
  spec.embedding_size = reader.value_or("embeddingSize", 0);
  return spec;
}

// Powers of two that divide the global batch, up to 64: what a job may use that names no sizes.
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
  std::ranges::sort(*sizes);
  sizes->erase(std::unique(sizes->begin(), sizes->end()), sizes->end());
  if (sizes->empty()) {
    reader.record("microbatchSizes",
                  fmt::format("none of them divides globalBatchSize {}; add a divisor", global_batch_size));
  }
  return *sizes;
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
  return finished(spec, reader);
}

}  // namespace

std::optional<double> optional_decimal(JsonReader& reader, std::string_view key) {
  const auto field = reader.optional<Json>(key);
  if (!field) return std::nullopt;
  if (field->is_number()) return field->get<double>();
  const std::string text = field->is_string() ? field->get<std::string>() : std::string();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value < 1e300)) {
    reader.record(key, fmt::format("{} is no decimal number that is at least 0, such as \"0.25\"", field->dump()));
    return std::nullopt;
  }
  return value;
}

std::string_view to_string(Precision precision) { return name_of(kPrecisions, precision); }

Result<Precision> parse_precision(std::string_view text) {
  if (const auto value = value_of(kPrecisions, text)) return *value;
  return fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no precision; use {}", text, choices(kPrecisions)));
}

Json to_json(const ModelSpec& model) {
  Json config = {{"name", model.name},
                 {"family", to_string(model.family)},
                 {"layers", model.blocks},
                 {"hiddenSize", model.hidden_size},
                 {"heads", model.heads},
                 {"kvHeads", model.kv_heads},
                 {"ffnSize", model.ffn_size},
                 {"vocabSize", model.vocab_size},
                 {"tiedEmbeddings", model.tied_embeddings}};
  if (model.max_positions > 0) config["maxPositions"] = model.max_positions;
  if (model.embedding_size > 0) config["embeddingSize"] = model.embedding_size;
  return {{"config", std::move(config)}};
}

Result<ModelSpec> model_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  const auto name = reader.value_or<std::string>("name", "");
  if (!reader.has("config")) {
    if (name.empty()) reader.record("name", "is missing; name a model of the catalogue or describe one under config");
    if (reader.error()) return tl::unexpected(*reader.error());
    auto found = find_model(name);
    if (!found) return tl::unexpected(std::move(found.error()).within(reader.path_of("name")));
    return found;
  }
  if (!name.empty())
    reader.record("name", "set either name (a model of the catalogue) or config (its shape), not both");
  JsonReader config(reader.child("config"), reader.path_of("config"));
  ModelSpec spec = config_from(config);
  if (config.error()) reader.absorb(*config.error());
  if (reader.error()) return tl::unexpected(*reader.error());
  auto checked = validated(std::move(spec));
  if (!checked) return tl::unexpected(std::move(checked.error()).within(reader.path_of("config")));
  return checked;
}

Json to_json(const TrainingSpec& training) {
  return {{"globalBatchSize", training.global_batch_size},
          {"sequenceLength", training.sequence_length},
          {"microbatchSizes", training.microbatch_sizes},
          {"precision", to_string(training.precision)},
          {"activationCheckpointing", name_of(kActivationCheckpointing, training.activation_checkpointing)},
          {"optimizer", to_json(training.optimizer)},
          {"steps", training.steps},
          {"seed", training.seed}};
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
  if (!reader.error()) spec.microbatch_sizes = microbatch_sizes_from(reader, spec.global_batch_size);
  const auto optimizer = optimizer_from_json(reader.child("optimizer"), reader.path_of("optimizer"));
  if (optimizer) spec.optimizer = *optimizer;
  if (!optimizer) reader.absorb(optimizer.error());
  return finished(std::move(spec), reader);
}

Json to_json(const DataSpec& data) { return {{"format", name_of(kDataFormats, data.format)}, {"path", data.path}}; }

Result<DataSpec> data_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  DataSpec spec;
  spec.format = read_enum(reader, "format", kDataFormats, spec.format);
  spec.path = reader.required<std::string>("path");
  return finished(std::move(spec), reader);
}

Json to_json(const CheckpointSpec& checkpoint) {
  return {{"path", checkpoint.path}, {"everySteps", checkpoint.every_steps}, {"keep", checkpoint.keep}};
}

Result<CheckpointSpec> checkpoint_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  CheckpointSpec spec;
  spec.path = reader.value_or<std::string>("path", "");
  spec.every_steps = reader.value_or("everySteps", spec.every_steps);
  require_positive(reader, "everySteps", spec.every_steps);
  spec.keep = reader.value_or("keep", spec.keep);
  require_positive(reader, "keep", spec.keep);
  return finished(std::move(spec), reader);
}

}  // namespace sailor
