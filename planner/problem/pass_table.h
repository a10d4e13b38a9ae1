// PassTable: for every kind of tensor-parallel group and every range of layers, the time that one microbatch takes and
// whether the layers fit in memory. A search looks these up millions of times, so they are computed once.
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
  // Covers the job's microbatch sizes, the given tensor-parallel sizes (1, 2, 4, ...) and the allowed techniques.
  // Pools with the same GPU type share their entries.
  PassTable(const JobSpec& job, const ClusterState& cluster, std::span<const int> tensor_parallel_sizes,
            std::span<const Techniques> allowed, const JobEstimator& estimator);

  // Returns the seconds of one microbatch, forward and backward. The result is always above zero.
  [[nodiscard]] double pass(int pool, ProfilePoint point, LayerRange layers, const Techniques& techniques) const {
    return at(pool, point, layers, techniques).pass;
  }
  // Whether the layers fit in the memory of the group. With a sharded optimizer, the number of replicas that share its
  // state is not known yet, so the check assumes the most that are possible.
  [[nodiscard]] bool fits(int pool, ProfilePoint point, LayerRange layers, const Techniques& techniques) const {
    return at(pool, point, layers, techniques).fits;
  }

 private:
  struct Entry {
    double pass = 0;
    bool fits = false;
  };

  [[nodiscard]] const Entry& at(int pool, ProfilePoint point, LayerRange layers, const Techniques& techniques) const;
  [[nodiscard]] std::size_t ranges() const { return (layers_ + 1) * (layers_ + 1); }
  void add_ranges(const JobEstimator& estimator, StageShape shape);

  std::size_t layers_;
  std::size_t tensor_parallel_sizes_;       // the number of sizes
  std::size_t per_type_ = 0;                // the number of entries of one GPU type
  std::vector<std::size_t> index_of_size_;  // [microbatch size]
  std::vector<std::size_t> type_of_pool_;
  std::array<std::size_t, 4> first_of_techniques_{};  // [techniques]: index of their first entry
  std::vector<Entry> entries_;                        // [techniques][type][size][tensor_parallel][first][last]
};

}  // namespace sailor
