#include "trainer/model/layers.h"

#include <string>

#include <ATen/ATen.h>

// Legend: B sequences, T tokens, H hidden_size, D head_size.

namespace sailor::trainer {
namespace {

at::Tensor linear(const Parameters& piece, const std::string& name, const at::Tensor& x) {
  return at::linear(x, piece.at(name + ".weight"), piece.find(name + ".bias"));
}

at::Tensor norm(const ModelSpec& spec, const Parameters& piece, const std::string& name, const at::Tensor& x) {
  const at::Tensor& weight = piece.at(name + ".weight");
  if (spec.has_biases())
    return at::layer_norm(x, {spec.hidden_size}, weight, piece.at(name + ".bias"), spec.norm_epsilon);
  return at::rms_norm(x, {spec.hidden_size}, weight, spec.norm_epsilon);
}

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {  // (B, T, heads D) -> (B, heads, T, D)
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

// Rotates each pair (x_i, x_{i + D/2}) by the token's position times a frequency that falls with i.
at::Tensor rotated(const ModelSpec& spec, const at::Tensor& x) {
  const std::int64_t T = x.size(2);
  const std::int64_t D = x.size(3);
  const at::Tensor exponents = at::arange(0, D, 2, at::kFloat) / static_cast<double>(D);
  const at::Tensor angles = at::outer(at::arange(T, at::kFloat), at::pow(spec.rope_theta, -exponents));
  const at::Tensor cosine = angles.cos();
  const at::Tensor sine = angles.sin();
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, -1);
}

at::Tensor local_mask(std::int64_t T, std::int64_t window) {
  const at::Tensor causal = at::ones({T, T}, at::kBool).tril();
  return causal.logical_and(at::ones({T, T}, at::kBool).triu(1 - window));
}

at::Tensor attend(const ModelSpec& spec, int layer, const at::Tensor& query, const at::Tensor& key,
                  const at::Tensor& value) {
  const std::optional<double> scale = spec.scales_attention() ? std::nullopt : std::optional(1.0);
  if (spec.is_local(layer) && query.size(2) > spec.local_window) {
    const at::Tensor mask = local_mask(query.size(2), spec.local_window);
    return at::scaled_dot_product_attention(query, key, value, mask, 0.0, false, scale);
  }
  return at::scaled_dot_product_attention(query, key, value, {}, 0.0, true, scale);
}

at::Tensor attention(const ModelSpec& spec, int layer, const Parameters& block, const at::Tensor& x) {
  at::Tensor query = split_heads(linear(block, "attention.query", x), spec.heads);
  at::Tensor key = split_heads(linear(block, "attention.key", x), spec.kv_heads);
  at::Tensor value = split_heads(linear(block, "attention.value", x), spec.kv_heads);
  if (spec.family == ModelFamily::kLlama) {
    query = rotated(spec, query);
    key = rotated(spec, key);
  }
  if (spec.kv_heads < spec.heads) {
    key = key.repeat_interleave(spec.heads / spec.kv_heads, 1);
    value = value.repeat_interleave(spec.heads / spec.kv_heads, 1);
  }
  const at::Tensor heads = attend(spec, layer, query, key, value);
  return linear(block, "attention.output", heads.transpose(1, 2).reshape(x.sizes()));
}

at::Tensor activated(const ModelSpec& spec, const at::Tensor& x) {
  switch (spec.activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
  }
  return x;
}

at::Tensor feed_forward(const ModelSpec& spec, const Parameters& block, const at::Tensor& x) {
  const at::Tensor up = linear(block, "ffn.up", x);
  if (spec.is_gated()) return linear(block, "ffn.down", activated(spec, linear(block, "ffn.gate", x)) * up);
  return linear(block, "ffn.down", activated(spec, up));
}

}  // namespace

at::Tensor embedding_forward(const ModelSpec& spec, const Parameters& tokens, const Parameters* positions,
                             const at::Tensor& input) {
  at::Tensor x = at::embedding(tokens.at("tokens.weight"), input);
  if (positions == nullptr) return x;
  if (positions->find("projection.weight").defined()) x = linear(*positions, "projection", x);
  if (spec.max_positions == 0) return x;
  return x + positions->at("positions.weight").narrow(0, spec.first_position(), input.size(1));
}

at::Tensor block_forward(const ModelSpec& spec, int layer, const Parameters& block, const at::Tensor& input) {
  if (spec.post_norm) {
    const at::Tensor x = norm(spec, block, "attention_norm", input + attention(spec, layer, block, input));
    return norm(spec, block, "ffn_norm", x + feed_forward(spec, block, x));
  }
  const at::Tensor x = input + attention(spec, layer, block, norm(spec, block, "attention_norm", input));
  return x + feed_forward(spec, block, norm(spec, block, "ffn_norm", x));
}

at::Tensor head_loss(const ModelSpec& spec, const Parameters& head, const Parameters* tokens, const at::Tensor& input,
                     const at::Tensor& targets) {
  at::Tensor x = spec.post_norm ? input : norm(spec, head, "norm", input);
  if (head.find("projection.weight").defined()) x = linear(head, "projection", x);
  const at::Tensor logits = at::linear(x, tokens != nullptr ? tokens->at("tokens.weight") : head.at("output.weight"));
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten(), {}, at::Reduction::Sum);
}

}  // namespace sailor::trainer
