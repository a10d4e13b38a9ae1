#include "core/model/model_spec.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "core/model/check.h"
#include "core/model/enum_names.h"
#include "core/model/size_limits.h"

namespace sailor {
namespace {

constexpr EnumName<ModelFamily> kFamilies[] = {{ModelFamily::kGpt2, "gpt2"},
                                               {ModelFamily::kOpt, "opt"},
                                               {ModelFamily::kGptNeo, "gpt-neo"},
                                               {ModelFamily::kLlama, "llama"}};
constexpr EnumName<Activation> kActivations[] = {{Activation::kGelu, "gelu"},
                                                 {Activation::kGeluTanh, "gelu-tanh"},
                                                 {Activation::kRelu, "relu"},
                                                 {Activation::kSilu, "silu"}};
constexpr int kGptNeoWindow = 256;  // the same in all published sizes

std::int64_t norm_parameters(const ModelSpec& spec) {
  return spec.has_biases() ? 2 * std::int64_t{spec.hidden_size} : spec.hidden_size;
}

std::int64_t linear_parameters(std::int64_t in, std::int64_t out, bool has_bias) {
  return in * out + (has_bias ? out : 0);
}

int embedding_width(const ModelSpec& spec) { return spec.embedding_size > 0 ? spec.embedding_size : spec.hidden_size; }

std::int64_t token_embedding_parameters(const ModelSpec& spec) {
  return std::int64_t{spec.vocab_size} * embedding_width(spec);
}

// If the embedding is narrower than the blocks, a matrix without bias projects it to their width.
std::int64_t projection_parameters(const ModelSpec& spec) {
  const int width = embedding_width(spec);
  return width == spec.hidden_size ? 0 : std::int64_t{width} * spec.hidden_size;
}

std::int64_t embedding_parameters(const ModelSpec& spec) {
  const std::int64_t positions = std::int64_t{spec.max_positions} * spec.hidden_size;
  return token_embedding_parameters(spec) + projection_parameters(spec) + positions;
}

std::int64_t block_parameters(const ModelSpec& spec) {
  const std::int64_t h = spec.hidden_size;
  const std::int64_t kv = std::int64_t{spec.kv_heads} * spec.head_size();
  const bool attention_bias = spec.has_biases() && spec.family != ModelFamily::kGptNeo;
  const std::int64_t attention = linear_parameters(h, h, attention_bias) +
                                 2 * linear_parameters(h, kv, attention_bias) +
                                 linear_parameters(h, h, spec.has_biases());
  const std::int64_t up = linear_parameters(h, spec.ffn_size, spec.has_biases());
  const std::int64_t down = linear_parameters(spec.ffn_size, h, spec.has_biases());
  return 2 * norm_parameters(spec) + attention + up * (spec.is_gated() ? 2 : 1) + down;
}

std::int64_t head_parameters(const ModelSpec& spec) {
  const std::int64_t norm = spec.post_norm ? 0 : norm_parameters(spec);
  return norm + projection_parameters(spec) + token_embedding_parameters(spec);
}

Result<ModelSpec> invalid(const ModelSpec& spec, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("model {}: {}", spec.name.empty() ? "config" : spec.name, what));
}

}  // namespace

std::string_view to_string(ModelFamily family) { return name_of(kFamilies, family); }

Result<ModelFamily> parse_model_family(std::string_view text) {
  if (const auto family = value_of(kFamilies, text)) return *family;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is not a model family; use gpt2, opt, gpt-neo or llama", text));
}

std::string_view to_string(Activation activation) { return name_of(kActivations, activation); }

Result<Activation> parse_activation(std::string_view text) {
  if (const auto activation = value_of(kActivations, text)) return *activation;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is not an activation; use one of {}", text, choices(kActivations)));
}

int usual_ffn_size(int hidden_size) {
  using Limits = std::numeric_limits<int>;
  return static_cast<int>(std::clamp<std::int64_t>(std::int64_t{4} * hidden_size, Limits::min(), Limits::max()));
}

ModelSpec family_defaults(ModelFamily family) {
  ModelSpec spec{.family = family};
  switch (family) {
    case ModelFamily::kGpt2:
      break;
    case ModelFamily::kOpt:
      spec.activation = Activation::kRelu;
      break;
    case ModelFamily::kGptNeo:
      spec.local_window = kGptNeoWindow;
      break;
    case ModelFamily::kLlama:
      spec.activation = Activation::kSilu;
      spec.tied_embeddings = false;
      break;
  }
  return spec;
}

Result<ModelSpec> validated(ModelSpec spec) {
  if (spec.blocks < 1 || spec.blocks > kMostBlocks) {
    return invalid(spec, fmt::format("layers is {}; it must be between 1 and {}", spec.blocks, kMostBlocks));
  }
  if (spec.hidden_size < 1 || spec.heads < 1 || spec.ffn_size < 1 || spec.vocab_size < 2) {
    return invalid(spec, "hiddenSize, heads, ffnSize must be at least 1 and vocabSize at least 2");
  }
  if (spec.hidden_size % spec.heads != 0) {
    return invalid(spec, fmt::format("hiddenSize {} is not a multiple of heads {}", spec.hidden_size, spec.heads));
  }
  if (spec.kv_heads < 1 || spec.heads % spec.kv_heads != 0) {
    return invalid(spec, fmt::format("kvHeads {} does not divide heads {}", spec.kv_heads, spec.heads));
  }
  const bool is_rotary = spec.family == ModelFamily::kLlama;
  if (!is_rotary && spec.longest_sequence().value_or(0) < 1) {
    return invalid(spec, fmt::format("maxPositions is {}; family {} has learned positions, so it must be at least {}",
                                     spec.max_positions, to_string(spec.family), spec.first_position() + 1));
  }
  if (is_rotary && spec.head_size() % 2 != 0) {
    return invalid(spec, fmt::format("rotary positions need an even head size, not {}", spec.head_size()));
  }
  if (!(spec.norm_epsilon > 0) || !(spec.rope_theta > 0)) {
    return invalid(spec, "normEpsilon and ropeTheta must be above 0");
  }
  if (spec.post_norm && spec.tied_embeddings && embedding_width(spec) == spec.hidden_size) {
    return invalid(spec, "postNorm leaves the head without weights; set tiedEmbeddings to false or embeddingSize");
  }
  if (spec.local_window < 0) {
    return invalid(spec, fmt::format("localWindow is {}; it must be at least 1, or 0 for none", spec.local_window));
  }
  return spec;
}

LayerKind layer_kind(const ModelSpec& spec, int layer) {
  SAILOR_CHECK(layer >= 0 && layer < spec.layer_count(), "layer {} of {}", layer, spec.layer_count());
  if (layer == 0) return LayerKind::kEmbedding;
  return layer == spec.layer_count() - 1 ? LayerKind::kHead : LayerKind::kBlock;
}

std::int64_t layer_parameters(const ModelSpec& spec, int layer) {
  switch (layer_kind(spec, layer)) {
    case LayerKind::kEmbedding:
      return embedding_parameters(spec);
    case LayerKind::kBlock:
      return block_parameters(spec);
    case LayerKind::kHead:
      return head_parameters(spec);
  }
  return 0;
}

std::int64_t stage_parameters(const ModelSpec& spec, int first, int last) {
  std::int64_t sum = 0;
  for (int layer = first; layer < last; ++layer) sum += layer_parameters(spec, layer);
  const bool has_both_ends = first == 0 && last == spec.layer_count();
  return has_both_ends && spec.tied_embeddings ? sum - token_embedding_parameters(spec) : sum;
}

}  // namespace sailor
