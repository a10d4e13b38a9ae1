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

  [[nodiscard]] int workers() const { return static_cast<int>(pieces_.size()); }  // leaving ones included
  [[nodiscard]] int training_workers() const { return training_; }
  [[nodiscard]] bool shards_optimizer() const { return shards_optimizer_; }
  [[nodiscard]] int rank_of(const Role& role) const;
  [[nodiscard]] Shard shard_of(int rank) const { return shards_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] std::vector<int> group_of(int rank) const;            // its tensor-parallel group, by shard
  [[nodiscard]] const std::vector<int>& pieces_of(int rank) const;    // ascending; none of a worker that leaves
  [[nodiscard]] const std::vector<int>& holders_of(int piece) const;  // ascending ranks; none where nobody trains
  [[nodiscard]] const std::vector<int>& pieces() const { return all_; }

  // What the rank multiplies with: its shard of the piece.
  [[nodiscard]] Piece computed_part(int rank, int piece) const;

  // What the rank updates and answers for: weights and moments that outlive a generation. The computed part, or, where
  // the plan shards the optimizer's state, its share of what it and others compute with.
  [[nodiscard]] Piece held_part(int rank, int piece) const;

  // What the same ranks compute with, over which gradients are summed. Their holders are ranks.
  [[nodiscard]] std::vector<Parcel> parcels_of(int piece) const;

  // The ranges of its held part that the rank writes into checkpoints, and counts in global sums: every element of the
  // piece is kept by one rank. Holders take turns, so that the work is spread over them.
  [[nodiscard]] std::vector<Range> kept_ranges(int rank, int piece) const;

 private:
  ModelSpec model_;
  bool shards_optimizer_;
  int training_ = 0;
  std::vector<int> all_;
  std::vector<Shard> shards_;                         // by rank
  std::vector<std::vector<int>> pieces_;              // by rank
  std::map<int, std::vector<int>> holders_;           // by piece
  std::vector<std::vector<std::vector<int>>> ranks_;  // [stage][replica][shard]
  std::vector<Role> roles_;                           // by rank, of those with one
};

// The share of a parcel that its k-th holder updates where the optimizer's state is sharded.
std::vector<Range> share_of(const Parcel& parcel, int k);

}  // namespace sailor::trainer
