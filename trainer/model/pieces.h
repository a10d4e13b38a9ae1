// Pieces: the units in which a model's state is held, reduced, moved and saved. No tensors here, only their shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model_spec.h"

namespace sailor::trainer {

enum class Initial { kNormal, kResidual, kOnes, kZeros };  // kResidual: smaller, as it writes to the residual stream

// How a tensor is divided among workers: always along this one dimension, in ranges of whole grains.
struct Cut {
  int dimension = 0;
  std::int64_t grain = 1;              // rows or columns that stay together: those of an attention head
  bool is_by_tensor_parallel = false;  // a tensor-parallel group splits it; others are whole in all its workers
  friend bool operator==(const Cut&, const Cut&) = default;
};

// A tensor of a piece, or a range of one along its cut.
struct Slice {
  std::string name;  // within the piece: "attention.query.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // first element in the flat piece
  Initial initial = Initial::kNormal;
  bool is_decayed = true;  // weight decay spares norms and biases
  Cut cut = {};
  int index = 0;           // of the tensor in the whole piece
  std::int64_t begin = 0;  // of the range, where it is one (shards.h)
  friend bool operator==(const Slice&, const Slice&) = default;

  [[nodiscard]] std::int64_t size() const;
};

// A layer's tensors one after the other, except that the token embedding is a piece of its own: where the embedding is
// tied, the first and the last stage both hold it, and a piece is whole wherever it is held.
struct Piece {
  int id = 0;
  std::vector<Slice> slices;
  std::int64_t size = 0;  // elements
  friend bool operator==(const Piece&, const Piece&) = default;
};

inline constexpr int kTokenEmbedding = 0;
inline constexpr int kPositions = 1;  // the rest of layer 0; empty where positions are rotary

// Layer n > 0 is piece n + 1.
constexpr int piece_of_layer(int layer) { return layer + 1; }
int piece_count(const ModelSpec& spec);

Piece piece_of(const ModelSpec& spec, int id);

// What a stage of the layers [first, last) holds: ascending ids, empty pieces left out.
std::vector<int> pieces_of_stage(const ModelSpec& spec, int first, int last);

// Every piece that is not empty.
std::vector<int> all_pieces(const ModelSpec& spec);

}  // namespace sailor::trainer
