// The catalogue of published models. Shapes are from the configuration that each family's authors published with the
// weights.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/model_spec.h"

namespace sailor {
namespace {

// Blocks whose feed-forward layer is four times as wide as they are, with as many key-value heads as heads.
ModelSpec with_blocks(ModelFamily family, std::string name, int blocks, int hidden, int heads) {
  ModelSpec spec = family_defaults(family);
  spec.name = std::move(name);
  spec.blocks = blocks;
  spec.hidden_size = hidden;
  spec.heads = spec.kv_heads = heads;
  spec.ffn_size = 4 * hidden;
  return spec;
}

ModelSpec gpt2(std::string name, int blocks, int hidden, int heads) {
  ModelSpec spec = with_blocks(ModelFamily::kGpt2, std::move(name), blocks, hidden, heads);
  spec.vocab_size = 50257;
  spec.max_positions = 1024;
  return spec;
}

ModelSpec opt(std::string name, int blocks, int hidden, int heads) {
  ModelSpec spec = with_blocks(ModelFamily::kOpt, std::move(name), blocks, hidden, heads);
  spec.vocab_size = 50272;
  spec.max_positions = 2048 + spec.first_position();  // two rows more than the longest sequence
  return spec;
}

// The only model of its family with a narrow embedding and with norms after the residual sums.
ModelSpec opt_350m() {
  ModelSpec spec = opt("opt-350m", 24, 1024, 16);
  spec.embedding_size = 512;
  spec.post_norm = true;
  return spec;
}

ModelSpec gpt_neo(std::string name, int blocks, int hidden, int heads) {
  ModelSpec spec = with_blocks(ModelFamily::kGptNeo, std::move(name), blocks, hidden, heads);
  spec.vocab_size = 50257;
  spec.max_positions = 2048;
  return spec;
}

struct LlamaShape {
  int blocks, hidden, heads, kv_heads, ffn, vocabulary;
};

ModelSpec llama(std::string name, const LlamaShape& shape, double rope_theta) {
  ModelSpec spec = family_defaults(ModelFamily::kLlama);
  spec.name = std::move(name);
  spec.blocks = shape.blocks;
  spec.hidden_size = shape.hidden;
  spec.heads = shape.heads;
  spec.kv_heads = shape.kv_heads;
  spec.ffn_size = shape.ffn;
  spec.vocab_size = shape.vocabulary;
  spec.rope_theta = rope_theta;
  return spec;
}

ModelSpec tiny_gpt2() {
  ModelSpec spec = gpt2("tiny-gpt2", 4, 128, 4);
  spec.vocab_size = 256;
  spec.max_positions = 512;
  return spec;
}

const std::array<ModelSpec, 18>& catalog() {
  static const std::array<ModelSpec, 18> models = {
      gpt2("gpt2", 12, 768, 12),
      gpt2("gpt2-medium", 24, 1024, 16),
      gpt2("gpt2-large", 36, 1280, 20),
      gpt2("gpt2-xl", 48, 1600, 25),
      opt("opt-125m", 12, 768, 12),
      opt_350m(),
      opt("opt-1.3b", 24, 2048, 32),
      opt("opt-2.7b", 32, 2560, 32),
      opt("opt-6.7b", 32, 4096, 32),
      opt("opt-13b", 40, 5120, 40),
      opt("opt-30b", 48, 7168, 56),
      gpt_neo("gpt-neo-1.3b", 24, 2048, 16),
      gpt_neo("gpt-neo-2.7b", 32, 2560, 20),
      llama("llama-2-7b", {32, 4096, 32, 32, 11008, 32000}, 10'000),
      llama("llama-3-8b", {32, 4096, 32, 8, 14336, 128256}, 500'000),
      llama("llama-3-70b", {80, 8192, 64, 8, 28672, 128256}, 500'000),
      tiny_gpt2(),
      llama("tiny-llama", {4, 128, 4, 2, 352, 256}, 10'000),
  };
  return models;
}

}  // namespace

std::span<const ModelSpec> model_catalog() { return catalog(); }

Result<ModelSpec> find_model(std::string_view name) {
  std::vector<std::string_view> known;
  for (const ModelSpec& model : catalog()) {
    if (model.name == name) return model;
    known.push_back(model.name);
  }
  return fail(ErrorCode::kNotFound, fmt::format("the catalogue has no model \"{}\"; it has {}; or describe the model "
                                                "under model.config",
                                                name, fmt::join(known, ", ")));
}

}  // namespace sailor
