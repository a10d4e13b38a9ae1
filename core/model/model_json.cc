// Models in manifests and assignments: a name from the catalogue, or a configuration.
#include <fmt/format.h>

#include "core/model/job_json.h"
#include "core/model/json_reader.h"

namespace sailor {
namespace {

Activation activation_from(JsonReader& reader, Activation fallback) {
  const auto text = reader.optional<std::string>("activation");
  if (!text) return fallback;
  const auto activation = parse_activation(*text);
  if (!activation) reader.record("activation", activation.error().message);
  return activation.value_or(fallback);
}

void read_positions(JsonReader& reader, ModelSpec& spec) {
  const bool is_rotary = spec.family == ModelFamily::kLlama;
  if (is_rotary && reader.has("maxPositions")) {
    reader.record("maxPositions", "the family llama has rotary positions, not learned ones; omit maxPositions");
  }
  if (!is_rotary && reader.has("ropeTheta")) {
    reader.record("ropeTheta", "only the family llama has rotary positions; omit ropeTheta");
  }
  spec.max_positions = is_rotary ? 0 : reader.value_or("maxPositions", 2048);
  spec.rope_theta = optional_decimal(reader, "ropeTheta").value_or(spec.rope_theta);
}

ModelSpec config_from(JsonReader& reader) {
  const auto family = parse_model_family(reader.value_or<std::string>("family", "gpt2"));
  if (!family) reader.record("family", family.error().message);
  ModelSpec spec = family_defaults(family.value_or(ModelFamily::kGpt2));
  spec.name = reader.value_or<std::string>("name", "");
  spec.blocks = reader.required<int>("layers");
  spec.hidden_size = reader.required<int>("hiddenSize");
  spec.heads = reader.required<int>("heads");
  spec.kv_heads = reader.value_or("kvHeads", spec.heads);
  spec.ffn_size = reader.value_or("ffnSize", usual_ffn_size(spec.hidden_size));
  spec.vocab_size = reader.required<int>("vocabSize");
  read_positions(reader, spec);
  spec.tied_embeddings = reader.value_or("tiedEmbeddings", spec.tied_embeddings);
  spec.embedding_size = reader.value_or("embeddingSize", 0);
  spec.activation = activation_from(reader, spec.activation);
  spec.norm_epsilon = optional_decimal(reader, "normEpsilon").value_or(spec.norm_epsilon);
  spec.post_norm = reader.value_or("postNorm", false);
  spec.local_window = reader.value_or("localWindow", spec.local_window);
  return spec;
}

}  // namespace

Json to_json(const ModelSpec& model) {
  Json config = {{"name", model.name},
                 {"family", to_string(model.family)},
                 {"layers", model.blocks},
                 {"hiddenSize", model.hidden_size},
                 {"heads", model.heads},
                 {"kvHeads", model.kv_heads},
                 {"ffnSize", model.ffn_size},
                 {"vocabSize", model.vocab_size},
                 {"tiedEmbeddings", model.tied_embeddings},
                 {"activation", to_string(model.activation)},
                 {"normEpsilon", fmt::format("{}", model.norm_epsilon)},
                 {"postNorm", model.post_norm},
                 {"localWindow", model.local_window}};
  if (model.max_positions > 0) config["maxPositions"] = model.max_positions;
  if (model.family == ModelFamily::kLlama) config["ropeTheta"] = fmt::format("{}", model.rope_theta);
  if (model.embedding_size > 0) config["embeddingSize"] = model.embedding_size;
  return {{"config", std::move(config)}};
}

Result<ModelSpec> model_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  const auto name = reader.value_or<std::string>("name", "");
  if (!reader.has("config")) {
    if (name.empty()) reader.record("name", "is missing; name a model of the catalogue or describe one under config");
    if (const auto& error = reader.error()) return tl::unexpected(*error);
    auto found = find_model(name);
    if (!found) return tl::unexpected(std::move(found.error()).within(reader.path_of("name")));
    return found;
  }
  if (!name.empty())
    reader.record("name", "set either name (a model of the catalogue) or config (its shape), not both");
  JsonReader config(reader.child("config"), reader.path_of("config"));
  ModelSpec spec = config_from(config);
  if (const auto& error = config.error()) reader.absorb(*error);
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  auto checked = validated(std::move(spec));
  if (!checked) return tl::unexpected(std::move(checked.error()).within(reader.path_of("config")));
  return checked;
}

}  // namespace sailor
