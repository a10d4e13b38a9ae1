#include "trainer/model/layers.h"

#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "trainer/model/vocabulary.h"

// Comments about shapes use these letters: B sequences, T tokens, H hidden_size, D head_size. With sequence
// parallelism, outside of the tensor-parallel region T is the number of tokens per sequence divided by the size of the
// group.

namespace sailor::trainer {
namespace {

Linear linear_of(const Parameters& parameters, const std::string& name) {
  return {parameters.at(name + ".weight"), parameters.find(name + ".bias")};
}

at::Tensor linear(const Parameters& parameters, const std::string& name, const at::Tensor& x) {
  const auto [weight, bias] = linear_of(parameters, name);
  return at::linear(x, weight, bias);
}

// Returns this worker's query, key and value. One product computes them if their weights are adjacent in memory. Gate
// and up are not computed so: autograd would have to join their gradients, which takes longer than it saves.
std::vector<at::Tensor> query_key_value(const TensorParallel& group, const Parameters& block, const at::Tensor& x) {
  std::vector<Linear> linears;
  std::vector<std::int64_t> outputs;
  for (const std::string_view name : kQueryKeyValue) {
    linears.push_back(linear_of(block, std::string(name)));
    outputs.push_back(linears.back().weight.size(0));
  }
  const at::Tensor joined = block.find(kJoinedQueryKeyValue);
  if (!joined.defined()) return group.column_linears(x, linears);
  return group.column_linears(x, {{joined, {}}}).front().split_with_sizes(outputs, -1);
}

// Each worker has some of the inputs. The partial products are summed over the workers, then the bias is added once.
at::Tensor row_linear(const TensorParallel& group, const Parameters& parameters, const std::string& name,
                      const at::Tensor& x) {
  if (group.is_single()) return linear(parameters, name, x);
  const at::Tensor y = group.reduce_from_region(at::linear(x, parameters.at(name + ".weight")));
  const at::Tensor bias = parameters.find(name + ".bias");
  return bias.defined() ? y + bias : y;
}

at::Tensor norm(const ModelSpec& spec, const Parameters& parameters, const std::string& name, const at::Tensor& x) {
  const at::Tensor& weight = parameters.at(name + ".weight");
  if (spec.has_biases())
    return at::layer_norm(x, {spec.hidden_size}, weight, parameters.at(name + ".bias"), spec.norm_epsilon);
  return at::rms_norm(x, {spec.hidden_size}, weight, spec.norm_epsilon);
}

at::Tensor split_heads(const at::Tensor& x, std::int64_t head_size) {  // (B, T, heads D) -> (B, heads, T, D)
  return x.view({x.size(0), x.size(1), -1, head_size}).transpose(1, 2);
}

at::Tensor local_mask(std::int64_t tokens, std::int64_t window, at::Device device) {
  const at::Tensor all = at::ones({tokens, tokens}, at::device(device).dtype(at::kBool));
  return all.tril().logical_and(all.triu(1 - window));
}

at::Tensor attend(const ModelSpec& spec, int layer, const at::Tensor& query, const at::Tensor& key,
                  const at::Tensor& value) {
  const std::optional<double> scale = spec.scales_attention() ? std::nullopt : std::optional(1.0);
  const bool shares_keys = query.size(1) > key.size(1);
  if (spec.is_local(layer) && query.size(2) > spec.local_window) {
    const at::Tensor mask = local_mask(query.size(2), spec.local_window, query.device());
    return at::scaled_dot_product_attention(query, key, value, mask, 0.0, false, scale, shares_keys);
  }
  return at::scaled_dot_product_attention(query, key, value, {}, 0.0, true, scale, shares_keys);
}

// Each worker of the group has some of the key-value heads, and the query heads that use them.
at::Tensor attention(const LayerContext& context, int layer, const Parameters& block, const at::Tensor& input) {
  const ModelSpec& spec = context.spec;
  const auto projected = query_key_value(context.group, block, input);
  at::Tensor query = split_heads(projected[0], spec.head_size());
  at::Tensor key = split_heads(projected[1], spec.head_size());
  at::Tensor value = split_heads(projected[2], spec.head_size());
  if (spec.family == ModelFamily::kLlama) {
    query = context.rotary->rotated(query);
    key = context.rotary->rotated(key);
    value = value.contiguous();  // else the backward pass would keep all projections, of which value is a part
  }
  const at::Tensor heads = attend(spec, layer, query, key, value);
  return row_linear(context.group, block, "attention.output", heads.transpose(1, 2).flatten(2));
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

at::Tensor up_projection(const LayerContext& context, const Parameters& block, const at::Tensor& x) {
  const ModelSpec& spec = context.spec;
  std::vector<Linear> linears = {linear_of(block, "ffn.up")};
  if (spec.is_gated()) linears.push_back(linear_of(block, "ffn.gate"));
  const auto outputs = context.group.column_linears(x, linears);
  if (spec.is_gated()) return activated(spec, outputs[1]) * outputs[0];
  return activated(spec, outputs[0]);
}

at::Tensor feed_forward(const LayerContext& context, const Parameters& block, const at::Tensor& x) {
  return row_linear(context.group, block, "ffn.down", up_projection(context, block, x));
}

// Every worker looks up the tokens in its part of the vocabulary. The sum over the workers has all of them.
at::Tensor token_embedding(const TensorParallel& group, const Parameters& tokens, const at::Tensor& words) {
  const at::Tensor& table = tokens.at("tokens.weight");
  if (group.is_single()) return at::embedding(table, words);
  const auto [rows, is_elsewhere] = rows_of_tokens(words, tokens.layout_of("tokens.weight").begin, table.size(0));
  return group.reduce_from_region(at::embedding(table, rows).masked_fill(is_elsewhere.unsqueeze(-1), 0));
}

// Returns the rows of the table for the positions of the tokens in their sequences. With sequence parallelism these are
// the tokens of this worker.
at::Tensor position_embedding(const LayerContext& context, const at::Tensor& table, const at::Tensor& tokens) {
  const std::int64_t length = tokens.size(1);
  const std::int64_t first = context.spec.first_position();
  if (!context.group.is_sequence_parallel()) return table.narrow(0, first, length);
  const auto [index, workers] = context.group.rank();
  const std::int64_t count = tokens.numel() / workers;
  const at::Tensor positions =
      at::arange(index * count, (index + 1) * count, tokens.options()).remainder_(length).add_(first);
  return at::embedding(table, positions.view({tokens.size(0), length / workers}));
}

}  // namespace

at::Tensor embedding_forward(const LayerContext& context, const Parameters& tokens, const Parameters* positions,
                             const at::Tensor& input) {
  const ModelSpec& spec = context.spec;
  at::Tensor x = token_embedding(context.group, tokens, input);
  if (positions == nullptr) return x;
  if (positions->find("projection.weight").defined()) x = linear(*positions, "projection", x);
  if (spec.max_positions == 0) return x;
  return x + position_embedding(context, positions->at("positions.weight"), input);
}

at::Tensor block_forward(const LayerContext& context, int layer, const Parameters& block, const at::Tensor& input) {
  const ModelSpec& spec = context.spec;
  if (spec.post_norm) {
    const at::Tensor x = norm(spec, block, "attention_norm", input + attention(context, layer, block, input));
    return norm(spec, block, "ffn_norm", x + feed_forward(context, block, x));
  }
  const at::Tensor x = input + attention(context, layer, block, norm(spec, block, "attention_norm", input));
  return x + feed_forward(context, block, norm(spec, block, "ffn_norm", x));
}

at::Tensor head_forward(const LayerContext& context, const Parameters& head, const at::Tensor& input) {
  const at::Tensor x = context.spec.post_norm ? input : norm(context.spec, head, "norm", input);
  return head.find("projection.weight").defined() ? linear(head, "projection", x) : x;
}

}  // namespace sailor::trainer
