#include "trainer/model/pieces.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

// Lays tensors one after the other.
class PieceBuilder {
 public:
  explicit PieceBuilder(int id) { piece_.id = id; }

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
  // Column parallel: every worker of a group computes a range of the outputs, of whole grains.
  void column_linear(const std::string& name, std::int64_t in, std::int64_t out, bool has_bias,
                     std::int64_t grain = 1) {
    weight(name + ".weight", {out, in}, split(0, grain));
    if (has_bias) bias(name + ".bias", out, split(0, grain));
  }
  // Row parallel: every worker multiplies a range of the inputs; the group adds up, and then the bias. Written to the
  // residual stream.
  void row_linear(const std::string& name, std::int64_t in, std::int64_t out, bool has_bias, std::int64_t grain = 1) {
    weight(name + ".weight", {out, in}, split(1, grain), Initial::kResidual);
    if (has_bias) bias(name + ".bias", out);
  }
  void vocabulary(const std::string& name, const ModelSpec& spec, std::int64_t width) {
    weight(name + ".weight", {spec.vocab_size, width}, split(0, 1));
  }
  Piece build() { return std::move(piece_); }

 private:
  static Cut split(int dimension, std::int64_t grain) {
    return {.dimension = dimension, .grain = grain, .is_by_tensor_parallel = true};
  }
  void add(Slice slice) {
    slice.index = static_cast<int>(piece_.slices.size());
    slice.offset = piece_.size;
    piece_.size += slice.size();
    piece_.slices.push_back(std::move(slice));
  }

  Piece piece_;
};

std::int64_t embedding_width(const ModelSpec& spec) {
  return spec.embedding_size > 0 ? spec.embedding_size : spec.hidden_size;
}

bool has_projection(const ModelSpec& spec) { return embedding_width(spec) != spec.hidden_size; }

Piece positions_piece(const ModelSpec& spec) {
  PieceBuilder piece(kPositions);
  if (spec.max_positions > 0) piece.weight("positions.weight", {spec.max_positions, spec.hidden_size});
  if (has_projection(spec)) piece.weight("projection.weight", {spec.hidden_size, embedding_width(spec)});
  return piece.build();
}

Piece block_piece(const ModelSpec& spec, int id) {
  const std::int64_t hidden = spec.hidden_size;
  const std::int64_t kv = std::int64_t{spec.kv_heads} * spec.head_size();
  const std::int64_t queries = hidden / spec.kv_heads;  // of one key-value head: the heads that share it stay with it
  const bool qkv_bias = spec.has_biases() && spec.family != ModelFamily::kGptNeo;
  PieceBuilder piece(id);
  piece.norm("attention_norm", spec);
  piece.column_linear("attention.query", hidden, hidden, qkv_bias, queries);
  piece.column_linear("attention.key", hidden, kv, qkv_bias, spec.head_size());
  piece.column_linear("attention.value", hidden, kv, qkv_bias, spec.head_size());
  piece.row_linear("attention.output", hidden, hidden, spec.has_biases(), queries);
  piece.norm("ffn_norm", spec);
  if (spec.is_gated()) piece.column_linear("ffn.gate", hidden, spec.ffn_size, false);
  piece.column_linear("ffn.up", hidden, spec.ffn_size, spec.has_biases());
  piece.row_linear("ffn.down", spec.ffn_size, hidden, spec.has_biases());
  return piece.build();
}

Piece head_piece(const ModelSpec& spec, int id) {
  PieceBuilder piece(id);
  if (!spec.post_norm) piece.norm("norm", spec);
  if (has_projection(spec)) piece.weight("projection.weight", {embedding_width(spec), spec.hidden_size});
  if (!spec.tied_embeddings) piece.vocabulary("output", spec, embedding_width(spec));
  return piece.build();
}

}  // namespace

std::int64_t Slice::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

int piece_count(const ModelSpec& spec) { return spec.layer_count() + 1; }

Piece piece_of(const ModelSpec& spec, int id) {
  SAILOR_CHECK(id >= 0 && id < piece_count(spec), "piece {} of {}", id, piece_count(spec));
  if (id == kTokenEmbedding) {
    PieceBuilder piece(id);
    piece.vocabulary("tokens", spec, embedding_width(spec));
    return piece.build();
  }
  if (id == kPositions) return positions_piece(spec);
  return id == piece_of_layer(spec.layer_count() - 1) ? head_piece(spec, id) : block_piece(spec, id);
}

std::vector<int> pieces_of_stage(const ModelSpec& spec, int first, int last) {
  const bool has_head = last == spec.layer_count();
  std::vector<int> ids;
  if (first == 0 || (has_head && spec.tied_embeddings)) ids.push_back(kTokenEmbedding);
  if (first == 0 && piece_of(spec, kPositions).size > 0) ids.push_back(kPositions);
  for (int layer = std::max(first, 1); layer < last; ++layer) ids.push_back(piece_of_layer(layer));
  return ids;
}

std::vector<int> all_pieces(const ModelSpec& spec) { return pieces_of_stage(spec, 0, spec.layer_count()); }

}  // namespace sailor::trainer
