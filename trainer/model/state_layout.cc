#include "trainer/model/state_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

// Builds a layout whose tensors lie one after the other.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(int id) { layout_.id = id; }

  void weight(std::string name, std::vector<std::int64_t> shape, Cut cut = {}, Initial initial = Initial::kNormal) {
    add({.name = std::move(name), .shape = std::move(shape), .initial = initial, .cut = cut});
  }
  void bias(std::string name, std::int64_t size, Cut cut = {}) {
    add({.name = std::move(name), .shape = {size}, .initial = Initial::kZeros, .is_decayed = false, .cut = cut});
  }
  void norm(const std::string& name, const ModelSpec& spec) {
    add({.name = name + ".weight", .shape = {spec.hidden_size}, .initial = Initial::kOnes, .is_decayed = false});
    if (spec.has_biases()) bias(name + ".bias", spec.hidden_size);
  }
  // Column parallel: every worker of a group computes a slice of the outputs, of whole grains.
  void column_linear(const std::string& name, std::int64_t in, std::int64_t out, bool has_bias,
                     std::int64_t grain = 1) {
    weight(name + ".weight", {out, in}, split(0, grain));
    if (has_bias) bias(name + ".bias", out, split(0, grain));
  }
  // Row parallel: every worker multiplies a slice of the inputs; the group adds up, and then the bias. Written to the
  // residual stream.
  void row_linear(const std::string& name, std::int64_t in, std::int64_t out, bool has_bias, std::int64_t grain = 1) {
    weight(name + ".weight", {out, in}, split(1, grain), Initial::kResidual);
    if (has_bias) bias(name + ".bias", out);
  }
  void vocabulary(const std::string& name, const ModelSpec& spec, std::int64_t width) {
    weight(name + ".weight", {spec.vocab_size, width}, split(0, 1));
  }
  StateLayout build() { return std::move(layout_); }

 private:
  static Cut split(int dimension, std::int64_t grain) {
    return {.dimension = dimension, .grain = grain, .is_by_tensor_parallel = true};
  }
  void add(TensorLayout tensor) {
    tensor.index = static_cast<int>(layout_.tensors.size());
    tensor.offset = layout_.size;
    layout_.size += tensor.size();
    layout_.tensors.push_back(std::move(tensor));
  }

  StateLayout layout_;
};

std::int64_t embedding_width(const ModelSpec& spec) {
  return spec.embedding_size > 0 ? spec.embedding_size : spec.hidden_size;
}

bool has_projection(const ModelSpec& spec) { return embedding_width(spec) != spec.hidden_size; }

StateLayout positions_layout(const ModelSpec& spec) {
  LayoutBuilder layout(kPositions);
  if (spec.max_positions > 0) layout.weight("positions.weight", {spec.max_positions, spec.hidden_size});
  if (has_projection(spec)) layout.weight("projection.weight", {spec.hidden_size, embedding_width(spec)});
  return layout.build();
}

StateLayout block_layout(const ModelSpec& spec, int id) {
  const std::int64_t hidden = spec.hidden_size;
  const std::int64_t kv = std::int64_t{spec.kv_heads} * spec.head_size();
  // The number of rows of the query heads that share one key-value head. They stay together.
  const std::int64_t queries = hidden / spec.kv_heads;
  const bool qkv_bias = spec.has_biases() && spec.family != ModelFamily::kGptNeo;
  LayoutBuilder layout(id);
  layout.norm("attention_norm", spec);
  layout.column_linear("attention.query", hidden, hidden, qkv_bias, queries);
  layout.column_linear("attention.key", hidden, kv, qkv_bias, spec.head_size());
  layout.column_linear("attention.value", hidden, kv, qkv_bias, spec.head_size());
  layout.row_linear("attention.output", hidden, hidden, spec.has_biases(), queries);
  layout.norm("ffn_norm", spec);
  if (spec.is_gated()) layout.column_linear("ffn.gate", hidden, spec.ffn_size, false);
  layout.column_linear("ffn.up", hidden, spec.ffn_size, spec.has_biases());
  layout.row_linear("ffn.down", spec.ffn_size, hidden, spec.has_biases());
  return layout.build();
}

StateLayout head_layout(const ModelSpec& spec, int id) {
  LayoutBuilder layout(id);
  if (!spec.post_norm) layout.norm("norm", spec);
  if (has_projection(spec)) layout.weight("projection.weight", {embedding_width(spec), spec.hidden_size});
  if (!spec.tied_embeddings) layout.vocabulary("output", spec, embedding_width(spec));
  return layout.build();
}

}  // namespace

std::int64_t TensorLayout::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

int layer_state_count(const ModelSpec& spec) { return spec.layer_count() + 1; }

StateLayout layout_of(const ModelSpec& spec, int id) {
  SAILOR_CHECK(id >= 0 && id < layer_state_count(spec), "layer state {} of {}", id, layer_state_count(spec));
  if (id == kTokenEmbedding) {
    LayoutBuilder layout(id);
    layout.vocabulary("tokens", spec, embedding_width(spec));
    return layout.build();
  }
  if (id == kPositions) return positions_layout(spec);
  return id == layer_state_of(spec.layer_count() - 1) ? head_layout(spec, id) : block_layout(spec, id);
}

std::vector<int> layer_states_of_stage(const ModelSpec& spec, int first, int last) {
  const bool has_head = last == spec.layer_count();
  std::vector<int> ids;
  if (first == 0 || (has_head && spec.tied_embeddings)) ids.push_back(kTokenEmbedding);
  if (first == 0 && layout_of(spec, kPositions).size > 0) ids.push_back(kPositions);
  for (int layer = std::max(first, 1); layer < last; ++layer) ids.push_back(layer_state_of(layer));
  return ids;
}

std::vector<int> all_layer_states(const ModelSpec& spec) { return layer_states_of_stage(spec, 0, spec.layer_count()); }

}  // namespace sailor::trainer
