// PassTable: how long a microbatch takes on a group of every kind, for every range of layers, and whether the group
// holds them. A search looks this up millions of times, so it is computed once.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/job_spec.h"
#include "planner/problem/estimator.h"

namespace sailor {

// What a whole plan does to need less memory.
struct MemorySavings {
  bool recomputes = false;        // activations
  bool shards_optimizer = false;  // over the replicas of a stage
  friend bool operator==(const MemorySavings&, const MemorySavings&) = default;
};

struct LayerRange {
  int first = 0;
  int last = 0;
};

class PassTable {
 public:
  // For the job's microbatch sizes, these degrees (1, 2, 4, ...) and what the job and the trainer allow.
  PassTable(const JobSpec& job, const ClusterState& cluster, std::span<const int> degrees,
            std::span<const MemorySavings> allowed, const JobEstimator& costs);

  // Of one microbatch, forward and backward, in seconds; more than nothing.
  [[nodiscard]] double pass(int pool, ProfilePoint point, LayerRange layers, const MemorySavings& savings) const {
    return at(pool, point, layers, savings).pass;
  }
  // How many replicas will share the optimizer's state is not known yet: as many as there can be.
  [[nodiscard]] bool fits(int pool, ProfilePoint point, LayerRange layers, const MemorySavings& savings) const {
    return at(pool, point, layers, savings).fits;
  }

 private:
  struct Entry {
    double pass = 0;
    bool fits = false;
  };

  [[nodiscard]] const Entry& at(int pool, ProfilePoint point, LayerRange layers, const MemorySavings& savings) const;
  [[nodiscard]] std::size_t ranges() const { return (layers_ + 1) * (layers_ + 1); }
  void add_ranges(const JobEstimator& costs, StageShape shape);

  std::size_t layers_;
  std::size_t degrees_;
  std::size_t per_type_ = 0;                // entries
  std::vector<std::size_t> index_of_size_;  // by microbatch size
  std::vector<std::size_t> type_of_pool_;
  std::array<std::size_t, 4> first_of_savings_{};  // entry
  std::vector<Entry> entries_;                     // [savings][type][size][degree][first][last]
};

}  // namespace sailor
