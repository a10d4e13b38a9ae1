// Roster: says for each rank of a generation with which part of the model's state it computes, which part it updates,
// and which part it writes to checkpoints. There are three terms: the *computed shard*, the *held shard*, which the
// rank updates, and the *saved slices*. The roster follows from the assignment alone, so all workers agree on it.
#pragma once

#include <map>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

class Roster {
 public:
  explicit Roster(const Assignment& assignment);

  [[nodiscard]] int workers() const { return static_cast<int>(layer_states_.size()); }  // including those that leave
  [[nodiscard]] int training_workers() const { return training_; }
  [[nodiscard]] bool shards_optimizer() const { return shards_optimizer_; }
  [[nodiscard]] int rank_of(const Role& role) const;
  [[nodiscard]] TensorParallelRank tensor_parallel_rank_of(int rank) const {
    return tensor_parallel_ranks_.at(static_cast<std::size_t>(rank));
  }
  // Returns the ranks of the tensor-parallel group of this rank, in the order of the group. The rank must train.
  [[nodiscard]] std::vector<int> group_of(int rank) const;
  // Returns the layer states of this rank's stage, ascending. A worker that leaves has none.
  [[nodiscard]] const std::vector<int>& layer_states_of(int rank) const;
  // Returns the ranks whose stage has this layer state, ascending.
  [[nodiscard]] const std::vector<int>& holders_of(int layer_state) const;
  [[nodiscard]] const std::vector<int>& layer_states() const { return all_; }

  // Returns the shard with which the rank computes forward and backward passes.
  [[nodiscard]] StateLayout computed_shard(int rank, int layer_state) const;

  // Returns the shard that the rank updates, and whose weights and moments it still has after the generation. Without a
  // sharded optimizer it is the computed shard. With a sharded optimizer it is smaller: all ranks that compute with the
  // same slices divide them.
  [[nodiscard]] StateLayout held_shard(int rank, int layer_state) const;

  // Returns the transfer units of the computed shards of all ranks. The holders of a unit are ranks. They compute with
  // the same slices, so they sum their gradients of the unit.
  [[nodiscard]] std::vector<TransferUnit> transfer_units_of(int layer_state) const;

  // Returns the slices of its held shard that the rank writes to checkpoints and counts in global sums. Every element
  // of the layer state belongs to the saved slices of exactly one rank. Without a sharded optimizer each unit goes to
  // one of its holders, in turn. With a sharded optimizer the rank saves its whole held shard.
  [[nodiscard]] std::vector<Slice> saved_slices(int rank, int layer_state) const;

 private:
  ModelSpec model_;
  bool shards_optimizer_;
  int training_ = 0;
  std::vector<int> all_;
  std::vector<TensorParallelRank> tensor_parallel_ranks_;  // indexed by rank
  std::vector<std::vector<int>> layer_states_;             // indexed by rank
  std::map<int, std::vector<int>> holders_;                // keyed by layer state
  std::vector<std::vector<std::vector<int>>> ranks_;       // [stage][replica][shard]
  std::vector<Role> roles_;                                // indexed by rank; only workers that train
};

// Returns the slices of a unit that its k-th holder updates if the optimizer is sharded.
std::vector<Slice> slices_of_holder(const TransferUnit& unit, int k);

}  // namespace sailor::trainer
