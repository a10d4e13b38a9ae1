// Roster: who holds and does what in a generation, by rank. A pure view of the assignment.
#pragma once

#include <map>
#include <vector>

#include "planner/model/assignment.h"

namespace sailor::trainer {

class Roster {
 public:
  explicit Roster(const Assignment& assignment);

  [[nodiscard]] int workers() const { return static_cast<int>(pieces_.size()); }  // leaving ones included
  [[nodiscard]] int training_workers() const { return training_; }
  [[nodiscard]] int rank_of(const Role& role) const;
  [[nodiscard]] const std::vector<int>& pieces_of(int rank) const;    // ascending; none of a worker that leaves
  [[nodiscard]] const std::vector<int>& holders_of(int piece) const;  // ascending ranks, never empty
  [[nodiscard]] const std::vector<int>& pieces() const { return all_; }

  // Who writes the piece into checkpoints and answers for its part of global sums: holders take turns, so that the work
  // is spread over them.
  [[nodiscard]] int keeper_of(int piece) const;

 private:
  int training_ = 0;
  std::vector<int> all_;
  std::vector<std::vector<int>> pieces_;              // by rank
  std::map<int, std::vector<int>> holders_;           // by piece
  std::vector<std::vector<std::vector<int>>> ranks_;  // [stage][replica][shard]
};

}  // namespace sailor::trainer
