// ModelSpec: the shape of a decoder-only transformer, and what follows from it (layers and their parameters).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/model/error.h"

namespace sailor {

enum class ModelFamily { kGpt2, kOpt, kGptNeo, kLlama };

std::string_view to_string(ModelFamily family);  // "gpt2", "opt", "gpt-neo", "llama": as in manifests
Result<ModelFamily> parse_model_family(std::string_view text);

enum class Activation { kGelu, kGeluTanh, kRelu, kSilu };

std::string_view to_string(Activation activation);  // "gelu", "gelu-tanh", "relu", "silu": as in manifests
Result<Activation> parse_activation(std::string_view text);

struct ModelSpec {
  std::string name;
  ModelFamily family = ModelFamily::kGpt2;
  int blocks = 0;  // transformer blocks; `layers` in a manifest
  int hidden_size = 0;
  int heads = 0;
  int kv_heads = 0;  // below heads: grouped-query attention
  int ffn_size = 0;
  int vocab_size = 0;
  int max_positions = 0;        // rows of the table of learned positions; 0 where positions are rotary
  bool tied_embeddings = true;  // the head multiplies with the token embedding
  int embedding_size = 0;       // width of the token embedding where it differs (OPT-350M: 512); 0: hidden_size
  Activation activation = Activation::kGeluTanh;  // of the feed-forward layer
  double norm_epsilon = 1e-5;
  double rope_theta = 10'000;  // base of the rotary frequencies
  bool post_norm = false;      // each sum is normalised, not each input, and the head has no norm (OPT-350M)
  int local_window = 0;        // every second block sees this many tokens, from its own back (GPT-Neo); 0: all see all

  // Layer 0 is the embedding, then the blocks, the last layer is the final norm with the head.
  [[nodiscard]] int layer_count() const { return blocks + 2; }
  [[nodiscard]] int head_size() const { return hidden_size / heads; }
  [[nodiscard]] bool is_gated() const { return family == ModelFamily::kLlama; }  // SwiGLU: three matrices
  [[nodiscard]] bool has_biases() const { return family != ModelFamily::kLlama; }
  [[nodiscard]] int first_position() const { return family == ModelFamily::kOpt ? 2 : 0; }     // row of the first token
  [[nodiscard]] bool scales_attention() const { return family != ModelFamily::kGptNeo; }       // by 1 / sqrt(head size)
  [[nodiscard]] bool is_local(int layer) const { return local_window > 0 && layer % 2 == 0; }  // layer 2 is block 1
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// What the models of a family have in common: where a field of it is absent, this is its value.
ModelSpec family_defaults(ModelFamily family);

// Says which field is impossible and what it may be; a spec that passes can be built by the trainer.
Result<ModelSpec> validated(ModelSpec spec);

enum class LayerKind { kEmbedding, kBlock, kHead };

LayerKind layer_kind(const ModelSpec& spec, int layer);

// Parameters that a stage must hold for this layer. A tied head counts its own copy of the token embedding: the last
// stage needs one unless it holds layer 0 as well (see stage_parameters).
std::int64_t layer_parameters(const ModelSpec& spec, int layer);

// Parameters of the layers [first, last), a tied embedding counted once if both its users are among them.
std::int64_t stage_parameters(const ModelSpec& spec, int first, int last);

// The public sizes of the families, and tiny ones for tests.
std::span<const ModelSpec> model_catalog();
Result<ModelSpec> find_model(std::string_view name);

}  // namespace sailor
