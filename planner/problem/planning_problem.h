// World: what one question to the planner is about: the pools that the job may use, and what their GPUs can do.
#pragma once

#include <memory>
#include <span>

#include "planner/problem/estimator.h"
#include "planner/problem/pass_table.h"
#include "planner/problem/plan_options.h"

namespace sailor {

struct World {
  const JobSpec& job;
  ClusterState cluster;      // only pools that the job may use and that have GPUs for it
  std::vector<int> degrees;  // of tensor parallelism, ascending
  std::shared_ptr<const JobEstimator> costs;
  std::shared_ptr<const PassTable> passes;  // of `costs`
  MemorySavings savings;                    // of the plans that are looked at now
  bool is_memory_ignored = false;           // to find the nearest miss where nothing fits

  bool may_shard_optimizer = false;
  [[nodiscard]] bool allows_checkpointing(bool recomputes) const {
    const ActivationCheckpointing wish = job.training.activation_checkpointing;
    return wish == ActivationCheckpointing::kAuto || (wish == ActivationCheckpointing::kAlways) == recomputes;
  }
  // All that plans may do, the fastest first.
  [[nodiscard]] std::vector<MemorySavings> allowed_savings() const;
  [[nodiscard]] int layers() const { return job.model.layer_count(); }
  [[nodiscard]] int pools() const { return static_cast<int>(cluster.pools.size()); }
  [[nodiscard]] const Pool& pool(int index) const { return cluster.pools[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int most_gpus() const;  // that a plan may use
  // Answers questions about costs from now on. Pools, degrees and what the trainer can do are as they will be.
  void ask(std::unique_ptr<JobEstimator> estimator);
  // Seconds of a microbatch on such a group, forward and backward.
  [[nodiscard]] double pass(int pool, ProfilePoint point, LayerRange layers) const {
    return passes->pass(pool, point, layers, savings);
  }
  [[nodiscard]] StageCost stage_cost(int pool, int microbatch_size, int degree, int first, int last) const;
  // The smallest degree with which a group of this pool holds the layers; 0 if none does (the largest, if
  // memory is ignored).
  [[nodiscard]] int smallest_degree(int pool, int microbatch_size, int first, int last) const;
};

// The cluster without the pools and nodes that the job may not use.
ClusterState usable_part(const JobSpec& job, const ClusterState& cluster);

// Powers of two up to the largest number of GPUs free on a node, and up to `most`.
std::vector<int> usable_degrees(const ClusterState& cluster, int most);

// Whether the plan keeps to what is there: GPUs and nodes of every pool, maxGpus, one region for each stage.
bool keeps_to_resources(const GroupedPlan& plan, const World& world);

}  // namespace sailor
