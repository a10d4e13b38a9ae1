// Defines the trainer's words for the state of a model, and describes where a state lies in memory. This file has no
// tensors, only their shapes.
//
//   layer state    the tensors of one layer: weights, and the optimizer's two moments of each. The token embedding has
//                  a layer state of its own. The state of a model is a list of layer states.
//   slice          consecutive rows or columns of one tensor, along the one dimension in which the tensor is split
//   shard          the slices of one layer state that one worker has (shards.h)
//   transfer unit  a set of slices of one layer state, for a given list of shards (for example the shards of all
//                  workers before and after a change of plan). Each shard contains all of the unit or nothing of it,
//                  and units are as large as this rule allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model_spec.h"

namespace sailor::trainer {

enum class Initial { kNormal, kResidual, kOnes, kZeros };  // kResidual: smaller, because it adds to the residual stream

// How a tensor is divided among workers. It is always divided along `dimension`. A tensor-parallel group divides it
// only between grains.
struct Cut {
  int dimension = 0;
  std::int64_t grain = 1;              // rows or columns that stay together, such as those of an attention head
  bool is_by_tensor_parallel = false;  // a tensor-parallel group splits it; otherwise each of its workers has all of it
  friend bool operator==(const Cut&, const Cut&) = default;
};

// The place of a tensor of a layer state in memory, or of a slice of the tensor.
struct TensorLayout {
  std::string name;  // within the layer state: "attention.query.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // its first element in the flat tensor
  Initial initial = Initial::kNormal;
  bool is_decayed = true;  // weight decay applies to it; false for norms and biases
  Cut cut = {};
  int index = 0;           // position of the tensor in its layer state
  std::int64_t begin = 0;  // Slice::begin if this is the layout of a slice (shards.h), else 0
  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;

  [[nodiscard]] std::int64_t size() const;
};

// The layout of a layer state, or of a shard of it: the tensors lie in a flat tensor one after the other. The token
// embedding has its own layer state, because both the first and the last stage have a tied embedding.
struct StateLayout {
  int id = 0;  // id of the layer state
  std::vector<TensorLayout> tensors;
  std::int64_t size = 0;  // elements
  friend bool operator==(const StateLayout&, const StateLayout&) = default;
};

inline constexpr int kTokenEmbedding = 0;
inline constexpr int kPositions = 1;  // the rest of layer 0 (positions, projection); it can be empty

// Layer n > 0 is layer state n + 1.
constexpr int layer_state_of(int layer) { return layer + 1; }
int layer_state_count(const ModelSpec& spec);

// Returns the layout of a whole layer state.
StateLayout layout_of(const ModelSpec& spec, int id);

// Returns the ids of the layer states of a stage with the layers [first, last), ascending, without empty ones.
std::vector<int> layer_states_of_stage(const ModelSpec& spec, int first, int last);

// Returns the ids of all layer states that are not empty.
std::vector<int> all_layer_states(const ModelSpec& spec);

}  // namespace sailor::trainer
