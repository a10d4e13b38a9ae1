// Plan: how a model is split over GPUs. Immutable once made, named by its hash.
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
  int microbatches = 0;  // of a step, that go through this replica
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
  bool activation_checkpointing = false;  // every stage keeps only its blocks' inputs and computes the rest again
  bool sharded_optimizer = false;         // each replica of a stage keeps and updates its part of the optimizer's state
  bool sequence_parallelism = false;      // outside of its linears a group deals the tokens over its GPUs
  friend bool operator==(const Plan&, const Plan&) = default;

  [[nodiscard]] int microbatches() const { return global_batch_size / microbatch_size; }
};

int gpu_count(const Plan& plan);
std::map<PoolKey, int> gpus_by_pool(const Plan& plan);

// A plan is well-formed for a job if its stages partition the layers in order, the replicas of every stage partition
// the microbatches, the microbatch size divides the global batch, activations are recomputed and tokens dealt as the
// job wishes, and every group can deal them evenly. Names the first field where that fails, and what to do.
Result<void> check_well_formed(const Plan& plan, const JobSpec& job);

// Whether every group of a plan with sequence parallelism can deal the tokens of a sequence evenly.
Result<void> check_token_partition(const Plan& plan, int sequence_length);

// Every way in which the plan does not fit the cluster or the job's resources: pools over-committed, groups that no
// node can hold, stages over several regions, GPUs outside minGpus..maxGpus, pools the job may not use. Empty: it fits.
std::vector<std::string> resource_violations(const Plan& plan, const JobSpec& job, const ClusterState& cluster);

}  // namespace sailor
