// PassTable: how long one microbatch takes on every kind of tensor-parallel group, for every range of layers, and
// whether the layers fit in the group's memory. A search looks this up millions of times, so it is computed once.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/job_spec.h"
#include "planner/problem/estimator.h"

namespace sailor {

class PassTable {
 public:
  // Covers the job's microbatch sizes, these tensor-parallel sizes (1, 2, 4, ...) and the savings that the job and the
  // trainer allow.
  PassTable(const JobSpec& job, const ClusterState& cluster, std::span<const int> tensor_parallel_sizes,
            std::span<const MemorySavings> allowed, const JobEstimator& costs);

  // Seconds of one microbatch, forward and backward; always above zero.
  [[nodiscard]] double pass(int pool, ProfilePoint point, LayerRange layers, const MemorySavings& savings) const {
    return at(pool, point, layers, savings).pass;
  }
  // With a sharded optimizer, assumes the most replicas that could share the optimizer's state: how many will share it
  // is not known yet.
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
  std::size_t tensor_parallel_sizes_;       // how many
  std::size_t per_type_ = 0;                // entries of one GPU type
  std::vector<std::size_t> index_of_size_;  // by microbatch size
  std::vector<std::size_t> type_of_pool_;
  std::array<std::size_t, 4> first_of_savings_{};  // index of the first entry
  std::vector<Entry> entries_;                     // [savings][type][size][tensor_parallel][first][last]
};

}  // namespace sailor
