// PassTable: for every kind of tensor-parallel group and every range of layers, the time that one microbatch takes and
// whether the layers fit in memory. A search looks these up millions of times, so they are computed once.
#pragma once

#include <algorithm>
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
    const Entry* from = at(pool, point, layers.first, techniques);
    const Entry* to = from + layers.size();
    return std::max(kLeast, (to->forward - from->forward) + (to->backward - from->backward));
  }
  // Whether the layers fit in the memory of the group. With a sharded optimizer, the number of replicas that share its
  // state is not known yet, so the check assumes the most that are possible.
  [[nodiscard]] bool fits(int pool, ProfilePoint point, LayerRange layers, const Techniques& techniques) const {
    return layers.last <= at(pool, point, layers.first, techniques)->end_of_fitting;
  }

 private:
  static constexpr double kLeast = 1e-9;  // above zero, so that rates are finite

  // What a range of layers needs follows from the entries of its first layer and of the layer after its last one.
  struct Entry {
    double forward = 0;  // the seconds of all layers before this one
    double backward = 0;
    int end_of_fitting = 0;  // where the longest range that starts with this layer and fits ends; else this layer
  };

  [[nodiscard]] const Entry* at(int pool, ProfilePoint point, int layer, const Techniques& techniques) const;
  void add_layers(const JobEstimator& estimator, StageShape shape);

  std::size_t layers_;
  std::size_t tensor_parallel_sizes_;       // the number of sizes
  std::size_t per_type_ = 0;                // the number of entries of one GPU type
  std::vector<std::size_t> index_of_size_;  // [microbatch size]
  std::vector<std::size_t> type_of_pool_;
  std::array<std::size_t, 4> first_of_techniques_{};  // [techniques]: index of their first entry
  std::vector<Entry> entries_;                        // [techniques][type][size][tensor_parallel][layer]
};

}  // namespace sailor
