// Roster: which worker of a generation computes with, updates and saves which part of the model's state, by rank. It is
// computed from the assignment alone, so all workers agree on it.
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
  [[nodiscard]] std::vector<int> group_of(int rank) const;  // its tensor-parallel group, in the order of the group
  [[nodiscard]] const std::vector<int>& layer_states_of(int rank) const;    // ascending; empty for a worker that leaves
  [[nodiscard]] const std::vector<int>& holders_of(int layer_state) const;  // ascending ranks
  [[nodiscard]] const std::vector<int>& layer_states() const { return all_; }

  // The shard with which the rank computes forward and backward passes.
  [[nodiscard]] StateLayout computed_shard(int rank, int layer_state) const;

  // The shard that the rank updates, and whose weights and moments it holds beyond the generation. It is the computed
  // shard or, if the plan shards the optimizer, the rank's slices of what it and others compute with.
  [[nodiscard]] StateLayout held_shard(int rank, int layer_state) const;

  // The units with which the same ranks compute: those ranks sum their gradients. Holders are given as ranks.
  [[nodiscard]] std::vector<TransferUnit> transfer_units_of(int layer_state) const;

  // The slices of its held shard that the rank writes to checkpoints and counts in global sums. Every element of the
  // layer state belongs to exactly one rank. Units are assigned to their holders in turn, to spread the work.
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
  std::vector<Role> roles_;                                // by rank, of workers that train
};

// The slices of a unit that its k-th holder updates if the optimizer is sharded.
std::vector<Slice> slices_of_holder(const TransferUnit& unit, int k);

}  // namespace sailor::trainer
