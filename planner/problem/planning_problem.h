// PlanningProblem: the input of one call of the planner, prepared for the search and the proof: the job, the pools that
// it may use, and tables of the times and memory of their GPUs. It does not change during the call.
#pragma once

#include <memory>
#include <span>

#include "planner/problem/estimator.h"
#include "planner/problem/pass_table.h"
#include "planner/problem/plan_options.h"

namespace sailor {

struct PlanningProblem {
  const JobSpec& job;
  ClusterState cluster;                           // only the pools that the job may use and that have free GPUs
  std::vector<int> tensor_parallel_sizes;         // ascending
  std::shared_ptr<const JobEstimator> estimator;  // estimates time, memory and cost of plans
  std::shared_ptr<const PassTable> passes;        // computed from `estimator`
  // True: plans need not fit in memory. If no plan fits, this finds the one that comes nearest.
  bool ignores_memory = false;

  // Sets `estimator` and computes `passes`. Set all other members first.
  void set_estimator(std::unique_ptr<JobEstimator> prepared);

  [[nodiscard]] int layers() const { return job.model.layer_count(); }
  [[nodiscard]] int pools() const { return static_cast<int>(cluster.pools.size()); }
  [[nodiscard]] const Pool& pool(int index) const { return cluster.pools[static_cast<std::size_t>(index)]; }
  // The most GPUs that a plan may use: the free ones, or maxGpus if that is less.
  [[nodiscard]] int most_gpus() const;
  [[nodiscard]] bool allows_checkpointing(bool recomputes) const;
  // Every combination of techniques that a plan may use. Only plans that keep peer replicas may shard the optimizer: a
  // single worker holds each shard of its state, so any other job that loses a worker would have to go back to its last
  // checkpoint. Without activation checkpointing, plans are faster, and come first.
  [[nodiscard]] std::vector<Techniques> allowed_techniques() const;
  [[nodiscard]] bool may_shard_optimizer() const { return job.redundancy != Redundancy::kNone; }

  // The seconds of a microbatch on a group of this pool, forward and backward.
  [[nodiscard]] double pass(int pool, ProfilePoint point, LayerRange layers, const Techniques& techniques) const {
    return passes->pass(pool, point, layers, techniques);
  }
  // Returns the smallest tensor-parallel size with which the layers fit on a group of this pool. If none fits, returns
  // 0 or, if memory is ignored, the largest size that the nodes of the pool can hold.
  [[nodiscard]] int smallest_tensor_parallel(int pool, int microbatch_size, LayerRange layers,
                                             const Techniques& techniques) const;
};

// Returns a normalized cluster without the pools that the job may not use, that have no free GPUs or whose accelerator
// is unknown. In pools that are used by whole nodes only, leaves out nodes that are partly used.
ClusterState usable_part(const JobSpec& job, ClusterState cluster);

// Sorts the pools by what they are, so that their names do not matter. Pools that do not differ keep their order.
ClusterState in_order_of_facts(ClusterState cluster);

// Whether some GPUs are slower than others of their node or type, or a node has GPUs that cannot be used. Good plans
// are then hard to find, because a few groups differ from all others.
bool has_slow_gpus(const ClusterState& cluster);

// Returns a sentence for each pool that the job may use but whose accelerator is unknown (AcceleratorBook::find()).
std::vector<std::string> notes_on_unknown_pools(const JobSpec& job, const ClusterState& cluster);

// Returns the powers of two up to the largest number of free GPUs of a node, and up to `most`.
std::vector<int> usable_tensor_parallel_sizes(const ClusterState& cluster, int most);

// Whether the plan uses at most maxGpus GPUs, its groups fit on the free GPUs of the nodes of every pool, and no stage
// spans two regions.
bool keeps_to_resources(const GroupedPlan& plan, const PlanningProblem& problem);

}  // namespace sailor
