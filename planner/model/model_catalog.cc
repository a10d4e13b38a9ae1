// The catalogue: public model sizes, from the configuration that each family's authors published with the weights.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/model/model_spec.h"

namespace sailor {
namespace {

ModelSpec gpt2(std::string name, int blocks, int hidden, int heads) {
  return {.name = std::move(name),
          .family = ModelFamily::kGpt2,
          .blocks = blocks,
          .hidden_size = hidden,
          .heads = heads,
          .kv_heads = heads,
          .ffn_size = 4 * hidden,
          .vocab_size = 50257,
          .max_positions = 1024};
}

ModelSpec opt(std::string name, int blocks, int hidden, int heads, int embedding_size = 0) {
  // OPT's position table has two rows more than its longest sequence: ids start at 2.
  return {.name = std::move(name),
          .family = ModelFamily::kOpt,
          .blocks = blocks,
          .hidden_size = hidden,
          .heads = heads,
          .kv_heads = heads,
          .ffn_size = 4 * hidden,
          .vocab_size = 50272,
          .max_positions = 2050,
          .embedding_size = embedding_size};
}

ModelSpec tiny(std::string name, ModelFamily family, int kv_heads) {
  const bool is_llama = family == ModelFamily::kLlama;
  return {.name = std::move(name),
          .family = family,
          .blocks = 4,
          .hidden_size = 128,
          .heads = 4,
          .kv_heads = kv_heads,
          .ffn_size = is_llama ? 352 : 512,
          .vocab_size = 256,
          .max_positions = is_llama ? 0 : 512,
          .tied_embeddings = !is_llama};
}

// NOLINTNEXTLINE(readability-function-size): a table
const std::array<ModelSpec, 18>& catalog() {
  static const std::array<ModelSpec, 18> models = {
      gpt2("gpt2", 12, 768, 12),
      gpt2("gpt2-medium", 24, 1024, 16),
      gpt2("gpt2-large", 36, 1280, 20),
      gpt2("gpt2-xl", 48, 1600, 25),
      opt("opt-125m", 12, 768, 12),
      opt("opt-350m", 24, 1024, 16, 512),
      opt("opt-1.3b", 24, 2048, 32),
      opt("opt-2.7b", 32, 2560, 32),
      opt("opt-6.7b", 32, 4096, 32),
      opt("opt-13b", 40, 5120, 40),
      opt("opt-30b", 48, 7168, 56),
      {.name = "gpt-neo-1.3b",
       .family = ModelFamily::kGptNeo,
       .blocks = 24,
       .hidden_size = 2048,
       .heads = 16,
       .kv_heads = 16,
       .ffn_size = 8192,
       .vocab_size = 50257,
       .max_positions = 2048},
      {.name = "gpt-neo-2.7b",
       .family = ModelFamily::kGptNeo,
       .blocks = 32,
       .hidden_size = 2560,
       .heads = 20,
       .kv_heads = 20,
       .ffn_size = 10240,
       .vocab_size = 50257,
       .max_positions = 2048},
      {.name = "llama-2-7b",
       .family = ModelFamily::kLlama,
       .blocks = 32,
       .hidden_size = 4096,
       .heads = 32,
       .kv_heads = 32,
       .ffn_size = 11008,
       .vocab_size = 32000,
       .tied_embeddings = false},
      {.name = "llama-3-8b",
       .family = ModelFamily::kLlama,
       .blocks = 32,
       .hidden_size = 4096,
       .heads = 32,
       .kv_heads = 8,
       .ffn_size = 14336,
       .vocab_size = 128256,
       .tied_embeddings = false},
      {.name = "llama-3-70b",
       .family = ModelFamily::kLlama,
       .blocks = 80,
       .hidden_size = 8192,
       .heads = 64,
       .kv_heads = 8,
       .ffn_size = 28672,
       .vocab_size = 128256,
       .tied_embeddings = false},
      tiny("tiny-gpt2", ModelFamily::kGpt2, 4),
      tiny("tiny-llama", ModelFamily::kLlama, 2),
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
