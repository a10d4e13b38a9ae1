// Plan: how a model is split over GPUs. A plan is immutable and named by its hash.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/ids.h"
#include "core/model/job_spec.h"

namespace sailor {

// One copy of a stage: a tensor-parallel group on one node.
struct Replica {
  PoolKey pool;
  int tensor_parallel = 1;
  int microbatches = 0;  // the microbatches that this replica processes in a step
  friend bool operator==(const Replica&, const Replica&) = default;
};

// The layers [first_layer, last_layer) and the replicas that compute them.
struct Stage {
  int first_layer = 0;
  int last_layer = 0;
  std::vector<Replica> replicas;
  friend bool operator==(const Stage&, const Stage&) = default;
};

struct Plan {
  std::string model;
  int global_batch_size = 0;
  int microbatch_size = 0;
  std::vector<Stage> stages;
  bool activation_checkpointing = false;  // stages keep only the inputs of their blocks and recompute the rest
  bool sharded_optimizer = false;         // each replica of a stage keeps and updates its part of the optimizer state
  bool sequence_parallelism = false;      // a group partitions the tokens over its GPUs outside of its linear layers
  bool peer_replicas = false;             // a GPU of another node also keeps the state that only one node holds
  friend bool operator==(const Plan&, const Plan&) = default;

  [[nodiscard]] int microbatches() const { return global_batch_size / microbatch_size; }
};

int gpu_count(const Plan& plan);
std::map<PoolKey, int> gpus_by_pool(const Plan& plan);

// A plan is well-formed for a job if its stages partition the layers in order, the replicas of every stage partition
// the microbatches, the microbatch size divides the global batch, activation checkpointing, sequence parallelism and
// peer replicas agree with the job, and every group can partition the tokens evenly. The error names the first wrong
// field and a remedy.
Result<void> check_well_formed(const Plan& plan, const JobSpec& job);

// Fails if the plan has sequence parallelism and some group cannot partition the tokens of a sequence evenly.
Result<void> check_token_partition(const Plan& plan, int sequence_length);

// Lists every reason why the plan does not fit the cluster or the job's resources: a pool without enough GPUs, a group
// that does not fit on any node, a stage in several regions, a number of GPUs outside minGpus..maxGpus, a pool that the
// job may not use. The list is empty if the plan fits.
std::vector<std::string> resource_violations(const Plan& plan, const JobSpec& job, const ClusterState& cluster);

}  // namespace sailor
