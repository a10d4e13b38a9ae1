#include "trainer/model/layers.h"

#include <string>

#include <ATen/ATen.h>

// Legend: B sequences, T tokens, H hidden_size, D head_size.

namespace sailor::trainer {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kRotaryBase = 10000;           // Su et al. 2021, as LLaMA uses it
constexpr std::int64_t kOptPositionOffset = 2;  // OPT's first position has id 2
constexpr std::int64_t kLocalWindow = 256;      // GPT-Neo's odd blocks see this many tokens

at::Tensor linear(const Parameters& piece, const std::string& name, const at::Tensor& x) {
  return at::linear(x, piece.at(name + ".weight"), piece.find(name + ".bias"));
}

at::Tensor norm(const ModelSpec& spec, const Parameters& piece, const std::string& name, const at::Tensor& x) {
  const at::Tensor& weight = piece.at(name + ".weight");
  if (spec.has_biases()) return at::layer_norm(x, {spec.hidden_size}, weight, piece.at(name + ".bias"), kNormEpsilon);
  return at::rms_norm(x, {spec.hidden_size}, weight, kNormEpsilon);
}

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {  // (B, T, heads D) -> (B, heads, T, D)
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

// Rotates each pair (x_i, x_{i + D/2}) by the token's position times a frequency that falls with i.
at::Tensor rotated(const at::Tensor& x) {
  const std::int64_t T = x.size(2);
  const std::int64_t D = x.size(3);
  const at::Tensor exponents = at::arange(0, D, 2, at::kFloat) / static_cast<double>(D);
  const at::Tensor angles = at::outer(at::arange(T, at::kFloat), at::pow(kRotaryBase, -exponents));
  const at::Tensor cosine = angles.cos();
  const at::Tensor sine = angles.sin();
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, -1);
}

at::Tensor local_mask(std::int64_t T) {
  const at::Tensor causal = at::ones({T, T}, at::kBool).tril();
  return causal.logical_and(at::ones({T, T}, at::kBool).triu(1 - kLocalWindow));
}

at::Tensor attend(const ModelSpec& spec, int layer, const at::Tensor& query, const at::Tensor& key,
                  const at::Tensor& value) {
  const bool is_neo = spec.family == ModelFamily::kGptNeo;
  const std::optional<double> scale = is_neo ? std::optional(1.0) : std::nullopt;  // GPT-Neo does not scale
  const bool is_local = is_neo && layer % 2 == 0 && query.size(2) > kLocalWindow;  // layer 2 is block 1
  if (is_local) {
    return at::scaled_dot_product_attention(query, key, value, local_mask(query.size(2)), 0.0, false, scale);
  }
  return at::scaled_dot_product_attention(query, key, value, {}, 0.0, true, scale);
}

at::Tensor attention(const ModelSpec& spec, int layer, const Parameters& block, const at::Tensor& x) {
  at::Tensor query = split_heads(linear(block, "attention.query", x), spec.heads);
  at::Tensor key = split_heads(linear(block, "attention.key", x), spec.kv_heads);
  at::Tensor value = split_heads(linear(block, "attention.value", x), spec.kv_heads);
  if (spec.family == ModelFamily::kLlama) {
    query = rotated(query);
    key = rotated(key);
  }
  if (spec.kv_heads < spec.heads) {
    key = key.repeat_interleave(spec.heads / spec.kv_heads, 1);
    value = value.repeat_interleave(spec.heads / spec.kv_heads, 1);
  }
  const at::Tensor heads = attend(spec, layer, query, key, value);
  return linear(block, "attention.output", heads.transpose(1, 2).reshape(x.sizes()));
}

at::Tensor feed_forward(const ModelSpec& spec, const Parameters& block, const at::Tensor& x) {
  const at::Tensor up = linear(block, "ffn.up", x);
  if (spec.is_gated()) return linear(block, "ffn.down", at::silu(linear(block, "ffn.gate", x)) * up);
  const bool is_opt = spec.family == ModelFamily::kOpt;
  return linear(block, "ffn.down", is_opt ? at::relu(up) : at::gelu(up, "tanh"));
}

}  // namespace

at::Tensor embedding_forward(const ModelSpec& spec, const Parameters& tokens, const Parameters* positions,
                             const at::Tensor& input) {
  at::Tensor x = at::embedding(tokens.at("tokens.weight"), input);
  if (positions == nullptr) return x;
  if (positions->find("projection.weight").defined()) x = linear(*positions, "projection", x);
  if (spec.max_positions == 0) return x;
  const std::int64_t first = spec.family == ModelFamily::kOpt ? kOptPositionOffset : 0;
  return x + positions->at("positions.weight").narrow(0, first, input.size(1));
}

at::Tensor block_forward(const ModelSpec& spec, int layer, const Parameters& block, const at::Tensor& input) {
  const at::Tensor x = input + attention(spec, layer, block, norm(spec, block, "attention_norm", input));
  return x + feed_forward(spec, block, norm(spec, block, "ffn_norm", x));
}

at::Tensor head_loss(const ModelSpec& spec, const Parameters& head, const Parameters* tokens, const at::Tensor& input,
                     const at::Tensor& targets) {
  at::Tensor x = norm(spec, head, "norm", input);
  if (head.find("projection.weight").defined()) x = linear(head, "projection", x);
  const at::Tensor logits = at::linear(x, tokens != nullptr ? tokens->at("tokens.weight") : head.at("output.weight"));
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten(), {}, at::Reduction::Sum);
}

}  // namespace sailor::trainer
