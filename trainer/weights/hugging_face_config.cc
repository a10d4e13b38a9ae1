#include "trainer/weights/hugging_face_config.h"

#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "core/model/enum_names.h"
#include "core/model/size_limits.h"

namespace sailor::trainer {
namespace {

using Json = nlohmann::json;

constexpr EnumName<ModelFamily> kTypes[] = {{ModelFamily::kGpt2, "gpt2"},
                                            {ModelFamily::kOpt, "opt"},
                                            {ModelFamily::kGptNeo, "gpt_neo"},
                                            {ModelFamily::kLlama, "llama"}};
constexpr EnumName<Activation> kActivations[] = {{Activation::kGelu, "gelu"},
                                                 {Activation::kGeluTanh, "gelu_new"},
                                                 {Activation::kGeluTanh, "gelu_pytorch_tanh"},
                                                 {Activation::kRelu, "relu"},
                                                 {Activation::kSilu, "silu"}};

// Refuses a field with another value than `only`, because our layers do not compute that variant.
void require(JsonReader& reader, std::string_view key, bool only) {
  const bool value = reader.value_or<bool>(key, only);
  if (value != only) reader.record(key, fmt::format("{} is not supported by this trainer", value));
}

void read_gpt2(JsonReader& reader, ModelSpec& spec) {
  spec.blocks = reader.required<int>("n_layer");
  spec.hidden_size = reader.required<int>("n_embd");
  spec.heads = spec.kv_heads = reader.required<int>("n_head");
  spec.ffn_size = reader.value_or("n_inner", usual_ffn_size(spec.hidden_size));
  spec.max_positions = reader.required<int>("n_positions");
  spec.norm_epsilon = reader.value_or("layer_norm_epsilon", spec.norm_epsilon);
  spec.activation = read_enum(reader, "activation_function", kActivations, spec.activation);
  require(reader, "scale_attn_weights", true);
  require(reader, "scale_attn_by_inverse_layer_idx", false);
}

void read_opt(JsonReader& reader, ModelSpec& spec) {
  spec.blocks = reader.required<int>("num_hidden_layers");
  spec.hidden_size = reader.required<int>("hidden_size");
  spec.heads = spec.kv_heads = reader.required<int>("num_attention_heads");
  spec.ffn_size = reader.required<int>("ffn_dim");
  spec.max_positions = reader.required<int>("max_position_embeddings") + spec.first_position();
  const int width = reader.value_or("word_embed_proj_dim", spec.hidden_size);
  spec.embedding_size = width == spec.hidden_size ? 0 : width;
  spec.post_norm = !reader.value_or("do_layer_norm_before", true);
  spec.activation = read_enum(reader, "activation_function", kActivations, spec.activation);
  require(reader, "enable_bias", true);
  require(reader, "layer_norm_elementwise_affine", true);
}

// Returns whether the first block has global attention, the second local, and so on. `types` lists how often some kinds
// follow each other: [[["global", "local"], 2], [["global"], 1]].
bool alternates(const Json& types, int blocks) {
  int block = 0;
  for (const Json& entry : types) {
    const bool is_entry = entry.is_array() && entry.size() == 2 && entry[0].is_array() && !entry[0].empty() &&
                          entry[1].is_number_integer();
    if (!is_entry) return false;
    for (auto left = entry[1].get<std::int64_t>(); left > 0 && block < blocks; --left) {
      for (const Json& kind : entry[0]) {
        if (kind != (block++ % 2 == 0 ? "global" : "local")) return false;
      }
    }
  }
  return block >= blocks;
}

// Hugging Face refuses types for more or fewer blocks than the model has.
Json alternating_attention(int blocks) {
  Json types = Json::array();
  if (blocks > 1) types.push_back(Json::array({Json::array({"global", "local"}), blocks / 2}));
  if (blocks % 2 == 1) types.push_back(Json::array({Json::array({"global"}), 1}));
  return types;
}

void read_gpt_neo(JsonReader& reader, ModelSpec& spec) {
  spec.blocks = reader.required<int>("num_layers");
  spec.hidden_size = reader.required<int>("hidden_size");
  spec.heads = spec.kv_heads = reader.required<int>("num_heads");
  spec.ffn_size = reader.value_or("intermediate_size", usual_ffn_size(spec.hidden_size));
  spec.max_positions = reader.required<int>("max_position_embeddings");
  spec.norm_epsilon = reader.value_or("layer_norm_epsilon", spec.norm_epsilon);
  spec.activation = read_enum(reader, "activation_function", kActivations, spec.activation);
  spec.local_window = reader.value_or("window_size", spec.local_window);
  const Json& types = reader.list("attention_types");
  const bool is_possible = spec.blocks <= kMostBlocks;  // else validated() refuses the model
  if (is_possible && reader.optional<Json>("attention_types") && !alternates(types, spec.blocks)) {
    reader.record("attention_types", "this trainer supports only alternating global and local attention");
  }
}

void read_llama(JsonReader& reader, ModelSpec& spec) {
  spec.blocks = reader.required<int>("num_hidden_layers");
  spec.hidden_size = reader.required<int>("hidden_size");
  spec.heads = reader.required<int>("num_attention_heads");
  spec.kv_heads = reader.value_or("num_key_value_heads", spec.heads);
  spec.ffn_size = reader.required<int>("intermediate_size");
  spec.norm_epsilon = reader.value_or("rms_norm_eps", spec.norm_epsilon);
  spec.activation = read_enum(reader, "hidden_act", kActivations, spec.activation);
  // Newer files describe the rotary frequencies in rope_parameters, older ones in rope_theta and rope_scaling. The
  // oldest call the type of a scaling `type`.
  JsonReader rotary(reader.child("rope_parameters"), "config.rope_parameters");
  JsonReader scaling(reader.child("rope_scaling"), "config.rope_scaling");
  spec.rope_theta = rotary.value_or("rope_theta", reader.value_or("rope_theta", spec.rope_theta));
  const std::string usual = "default";
  const bool is_scaled = rotary.value_or("rope_type", usual) != usual ||
                         (reader.optional<Json>("rope_scaling") &&
                          scaling.value_or("rope_type", scaling.value_or("type", std::string())) != usual);
  if (is_scaled) reader.record("rope_scaling", "this trainer does not support scaled rotary frequencies");
  if (reader.value_or("head_dim", spec.hidden_size / std::max(spec.heads, 1)) * spec.heads != spec.hidden_size) {
    reader.record("head_dim", "this trainer supports only head_dim * heads = hidden_size");
  }
  require(reader, "attention_bias", false);
  require(reader, "mlp_bias", false);
}

void read_shape(JsonReader& reader, ModelSpec& spec) {
  switch (spec.family) {
    case ModelFamily::kGpt2:
      return read_gpt2(reader, spec);
    case ModelFamily::kOpt:
      return read_opt(reader, spec);
    case ModelFamily::kGptNeo:
      return read_gpt_neo(reader, spec);
    case ModelFamily::kLlama:
      return read_llama(reader, spec);
  }
}

Json shape_of(const ModelSpec& spec) {
  switch (spec.family) {
    case ModelFamily::kGpt2:
      return {
          {"n_layer", spec.blocks},   {"n_embd", spec.hidden_size},        {"n_head", spec.heads},
          {"n_inner", spec.ffn_size}, {"n_positions", spec.max_positions}, {"layer_norm_epsilon", spec.norm_epsilon}};
    case ModelFamily::kOpt:
      return {{"num_hidden_layers", spec.blocks},
              {"hidden_size", spec.hidden_size},
              {"num_attention_heads", spec.heads},
              {"ffn_dim", spec.ffn_size},
              {"max_position_embeddings", *spec.longest_sequence()},
              {"word_embed_proj_dim", spec.embedding_size > 0 ? spec.embedding_size : spec.hidden_size},
              {"do_layer_norm_before", !spec.post_norm}};
    case ModelFamily::kGptNeo:
      return {{"num_layers", spec.blocks},
              {"hidden_size", spec.hidden_size},
              {"num_heads", spec.heads},
              {"intermediate_size", spec.ffn_size},
              {"max_position_embeddings", spec.max_positions},
              {"layer_norm_epsilon", spec.norm_epsilon},
              {"window_size", spec.local_window},
              {"attention_types", alternating_attention(spec.blocks)}};
    case ModelFamily::kLlama:
      return {{"num_hidden_layers", spec.blocks},   {"hidden_size", spec.hidden_size},
              {"num_attention_heads", spec.heads},  {"num_key_value_heads", spec.kv_heads},
              {"intermediate_size", spec.ffn_size}, {"rms_norm_eps", spec.norm_epsilon},
              {"rope_theta", spec.rope_theta}};
  }
  return {};
}

std::string_view architecture_of(ModelFamily family) {
  switch (family) {
    case ModelFamily::kGpt2:
      return "GPT2LMHeadModel";
    case ModelFamily::kOpt:
      return "OPTForCausalLM";
    case ModelFamily::kGptNeo:
      return "GPTNeoForCausalLM";
    case ModelFamily::kLlama:
      return "LlamaForCausalLM";
  }
  return "";
}

}  // namespace

Result<ModelSpec> spec_from_hugging_face_config(const Json& config, const std::string& name) {
  JsonReader reader(config, "config");
  const auto type = reader.required<std::string>("model_type");
  const auto family = value_of(kTypes, type);
  if (!reader.error() && !family) {
    reader.record("model_type", fmt::format("\"{}\" is unknown; use one of {}", type, choices(kTypes)));
  }
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  ModelSpec spec = family_defaults(family.value());
  spec.name = name;
  spec.vocab_size = reader.required<int>("vocab_size");
  read_shape(reader, spec);
  spec.tied_embeddings = reader.value_or("tie_word_embeddings", spec.tied_embeddings);
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return validated(spec);
}

Result<ModelSpec> read_hugging_face_config(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "config.json";
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  const std::filesystem::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  std::ifstream stream(file);
  const Json config = Json::parse(stream, nullptr, false);
  if (!config.is_object()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("reading {}: it is missing or not a JSON object; name the folder of a Hugging Face model",
                            file.string()));
  }
  auto spec = spec_from_hugging_face_config(config, name.string());
  if (!spec) return tl::unexpected(std::move(spec.error()).within("reading " + file.string()));
  return spec;
}

Result<Json> hugging_face_config(const ModelSpec& spec, int sequence_length) {
  Json config = shape_of(spec);
  config["model_type"] = name_of(kTypes, spec.family);
  config["architectures"] = {architecture_of(spec.family)};
  config["vocab_size"] = spec.vocab_size;
  config["tie_word_embeddings"] = spec.tied_embeddings;
  const bool is_llama = spec.family == ModelFamily::kLlama;
  config[is_llama ? "hidden_act" : "activation_function"] = name_of(kActivations, spec.activation);
  if (is_llama && sequence_length > 0) config["max_position_embeddings"] = sequence_length;
  const auto read_back = spec_from_hugging_face_config(config, spec.name);
  if (read_back && *read_back == spec) return config;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("model {}: Hugging Face's {} cannot express it; only models with the family's own structure "
                          "can be exported",
                          spec.name, architecture_of(spec.family)));
}

}  // namespace sailor::trainer
