// PlanningProblem: what one call of the planner is about: the job, the pools that it may use, and tables of what their
// GPUs can do. It stays constant while the search and the proof work on it.
#pragma once

#include <memory>
#include <span>

#include "planner/problem/estimator.h"
#include "planner/problem/pass_table.h"
#include "planner/problem/plan_options.h"

namespace sailor {

struct PlanningProblem {
  const JobSpec& job;
  ClusterState cluster;                    // only the pools that the job may use and that have free GPUs
  std::vector<int> tensor_parallel_sizes;  // ascending
  std::shared_ptr<const JobEstimator> costs;
  std::shared_ptr<const PassTable> passes;  // made from `costs`
  bool may_shard_optimizer = false;
  bool ignores_memory = false;  // where nothing fits: to find the plan that comes nearest

  // Sets the estimator and makes the table of passes from it. All members above must have their values.
  void set_estimator(std::unique_ptr<JobEstimator> estimator);

  [[nodiscard]] int layers() const { return job.model.layer_count(); }
  [[nodiscard]] int pools() const { return static_cast<int>(cluster.pools.size()); }
  [[nodiscard]] const Pool& pool(int index) const { return cluster.pools[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int most_gpus() const;  // that a plan may use
  [[nodiscard]] bool allows_checkpointing(bool recomputes) const;
  // Every combination that a plan may use, the fastest first.
  [[nodiscard]] std::vector<MemorySavings> allowed_savings() const;

  // Seconds of a microbatch on a group of this pool, forward and backward.
  [[nodiscard]] double pass(int pool, ProfilePoint point, LayerRange layers, const MemorySavings& savings) const {
    return passes->pass(pool, point, layers, savings);
  }
  // The smallest tensor-parallel size with which the layers fit on a group of this pool. 0 if none does; then, if
  // memory is ignored, the largest that the pool's nodes can hold.
  [[nodiscard]] int smallest_tensor_parallel(int pool, int microbatch_size, LayerRange layers,
                                             const MemorySavings& savings) const;
};

// The cluster without the pools and nodes that the job may not use.
ClusterState usable_part(const JobSpec& job, const ClusterState& cluster);

// Powers of two up to the largest number of free GPUs of a node, and up to `most`.
std::vector<int> usable_tensor_parallel_sizes(const ClusterState& cluster, int most);

// Whether the plan stays within the free GPUs and nodes of every pool and within maxGpus, and every stage stays within
// one region.
bool keeps_to_resources(const GroupedPlan& plan, const PlanningProblem& problem);

}  // namespace sailor
