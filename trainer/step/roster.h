// Roster: who holds and does what in a generation, by rank. A pure view of the assignment.
#pragma once

#include <map>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

class Roster {
 public:
  explicit Roster(const Assignment& assignment);

  [[nodiscard]] int workers() const { return static_cast<int>(layer_states_.size()); }  // leaving ones included
  [[nodiscard]] int training_workers() const { return training_; }
  [[nodiscard]] bool shards_optimizer() const { return shards_optimizer_; }
  [[nodiscard]] int rank_of(const Role& role) const;
  [[nodiscard]] TensorParallelRank tensor_parallel_rank_of(int rank) const {
    return tensor_parallel_ranks_.at(static_cast<std::size_t>(rank));
  }
  [[nodiscard]] std::vector<int> group_of(int rank) const;                  // its tensor-parallel group, by shard
  [[nodiscard]] const std::vector<int>& layer_states_of(int rank) const;    // ascending; none of a worker that leaves
  [[nodiscard]] const std::vector<int>& holders_of(int layer_state) const;  // ascending ranks; none where nobody trains
  [[nodiscard]] const std::vector<int>& layer_states() const { return all_; }

  // What the rank multiplies with: its shard of the layer state.
  [[nodiscard]] StateLayout computed_shard(int rank, int layer_state) const;

  // What the rank updates and answers for: weights and moments that outlive a generation. The computed shard, or, where
  // the plan shards the optimizer's state, its slices of what it and others compute with.
  [[nodiscard]] StateLayout held_shard(int rank, int layer_state) const;

  // What the same ranks compute with, over which gradients are summed. Their holders are ranks.
  [[nodiscard]] std::vector<TransferUnit> transfer_units_of(int layer_state) const;

  // The slices of its held shard that the rank writes into checkpoints, and counts in global sums: every element of the
  // layer state is kept by one rank. Holders take turns, so that the work is spread over them.
  [[nodiscard]] std::vector<Slice> kept_slices(int rank, int layer_state) const;

 private:
  ModelSpec model_;
  bool shards_optimizer_;
  int training_ = 0;
  std::vector<int> all_;
  std::vector<TensorParallelRank> tensor_parallel_ranks_;  // by rank
  std::vector<std::vector<int>> layer_states_;             // by rank
  std::map<int, std::vector<int>> holders_;                // by layer state
  std::vector<std::vector<std::vector<int>>> ranks_;       // [stage][replica][shard]
  std::vector<Role> roles_;                                // by rank, of those with one
};

// The slices of a unit that its k-th holder updates if the optimizer is sharded.
std::vector<Slice> slices_of_holder(const TransferUnit& unit, int k);

}  // namespace sailor::trainer
