// ModelSpec: the shape of a decoder-only transformer, and its layers and numbers of parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/model/error.h"

namespace sailor {

enum class ModelFamily { kGpt2, kOpt, kGptNeo, kLlama };

std::string_view to_string(ModelFamily family);  // "gpt2", "opt", "gpt-neo" or "llama", as in manifests
Result<ModelFamily> parse_model_family(std::string_view text);

enum class Activation { kGelu, kGeluTanh, kRelu, kSilu };

std::string_view to_string(Activation activation);  // "gelu", "gelu-tanh", "relu" or "silu", as in manifests
Result<Activation> parse_activation(std::string_view text);

struct ModelSpec {
  std::string name;
  ModelFamily family = ModelFamily::kGpt2;
  int blocks = 0;  // transformer blocks; `layers` in a manifest
  int hidden_size = 0;
  int heads = 0;
  int kv_heads = 0;  // fewer than heads with grouped-query attention
  int ffn_size = 0;
  int vocab_size = 0;
  int max_positions = 0;                          // rows of the learned position embedding; 0 for rotary positions
  bool tied_embeddings = true;                    // the head uses the token embedding as its matrix
  int embedding_size = 0;                         // width of the token embedding; 0: hidden_size (OPT-350M has 512)
  Activation activation = Activation::kGeluTanh;  // the activation function of the feed-forward layer
  double norm_epsilon = 1e-5;
  double rope_theta = 10'000;  // base of the rotary frequencies
  bool post_norm = false;      // norms follow the residual sums, and the head has no norm (OPT-350M)
  // In every second block a token attends to this many tokens, itself and those before it (GPT-Neo). 0: every block
  // attends to all earlier tokens.
  int local_window = 0;

  // Layer 0 is the embedding, the blocks follow, and the last layer is the final norm with the head.
  [[nodiscard]] int layer_count() const { return blocks + 2; }
  [[nodiscard]] int head_size() const { return hidden_size / heads; }
  [[nodiscard]] bool is_gated() const { return family == ModelFamily::kLlama; }  // SwiGLU: three matrices
  [[nodiscard]] bool has_biases() const { return family != ModelFamily::kLlama; }
  [[nodiscard]] int first_position() const {
    return family == ModelFamily::kOpt ? 2 : 0;
  }  // row of the position embedding for the first token
  // The most tokens of a sequence: each takes a row of the position embedding. Nothing with rotary positions, which
  // have no limit.
  [[nodiscard]] std::optional<int> longest_sequence() const {
    return max_positions == 0 ? std::nullopt : std::optional(max_positions - first_position());
  }
  // Returns whether attention is scaled by 1 / sqrt(head size).
  [[nodiscard]] bool scales_attention() const { return family != ModelFamily::kGptNeo; }
  // Returns whether the layer's attention is limited to local_window. Layer 2 is block 1.
  [[nodiscard]] bool is_local(int layer) const { return local_window > 0 && layer % 2 == 0; }
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// The default values of a family, for fields that a configuration omits.
ModelSpec family_defaults(ModelFamily family);

// Returns the usual size of the feed-forward layer, four times the hidden size. Any number may be given, because a
// configuration is checked only when all of it is read; the result is at the limit of its type instead of beyond.
int usual_ffn_size(int hidden_size);

// Returns the spec if the trainer can build it. Otherwise the error names the invalid field and the allowed values.
Result<ModelSpec> validated(ModelSpec spec);

enum class LayerKind { kEmbedding, kBlock, kHead };

LayerKind layer_kind(const ModelSpec& spec, int layer);

// The number of parameters that a stage holds for this layer. A tied head includes its own copy of the token embedding,
// because the last stage needs one unless it also holds layer 0 (see stage_parameters).
std::int64_t layer_parameters(const ModelSpec& spec, int layer);

// The number of parameters of the layers [first, last). A tied embedding counts once if both layers that use it are
// among them.
std::int64_t stage_parameters(const ModelSpec& spec, int first, int last);

// The published models of the families, and tiny ones for tests.
std::span<const ModelSpec> model_catalog();
Result<ModelSpec> find_model(std::string_view name);

}  // namespace sailor
