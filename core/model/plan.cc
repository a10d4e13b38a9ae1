#include "core/model/plan.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/model/counted.h"
#include "core/model/node_packing.h"

namespace sailor {
namespace {

// `path` is the field's path in the plan's JSON.
template <class... Arguments>
Result<void> malformed(const std::string& path, fmt::format_string<Arguments...> what, Arguments&&... arguments) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("plan.{}: {}", path, fmt::format(what, std::forward<Arguments>(arguments)...)));
}

Result<void> check_replicas(const Plan& plan, std::size_t index) {
  const std::string path = fmt::format("stages[{}].replicas", index);
  const auto& replicas = plan.stages[index].replicas;
  std::int64_t microbatches = 0;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    if (replicas[r].tensor_parallel < 1) {
      return malformed(fmt::format("{}[{}].tensorParallel", path, r), "{} is below 1; a replica has at least 1 GPU",
                       replicas[r].tensor_parallel);
    }
    if (replicas[r].microbatches < 1) {
      return malformed(fmt::format("{}[{}].microbatches", path, r), "{} is below 1; omit replicas without microbatches",
                       replicas[r].microbatches);
    }
    microbatches += replicas[r].microbatches;
  }
  if (microbatches == plan.microbatches()) return {};
  return malformed(path,
                   "their microbatches sum up to {}, not to the {} of the step (globalBatchSize / microbatchSize)",
                   microbatches, plan.microbatches());
}

Result<void> check_layers(const Plan& plan, const JobSpec& job) {
  int layer = 0;
  for (std::size_t index = 0; index < plan.stages.size(); ++index) {
    const Stage& stage = plan.stages[index];
    if (stage.first_layer != layer || stage.last_layer <= stage.first_layer) {
      return malformed(
          fmt::format("stages[{}].layers", index),
          "[{}, {}) is not a range that starts at {}; the stages must cover all layers in order, each once",
          stage.first_layer, stage.last_layer, layer);
    }
    layer = stage.last_layer;
  }
  if (layer == job.model.layer_count()) return {};
  const std::string path = plan.stages.empty() ? "stages" : fmt::format("stages[{}].layers", plan.stages.size() - 1);
  return malformed(path, "the last stage ends at {}; it must end at {}, because {} is the number of layers of {}",
                   layer, job.model.layer_count(), job.model.layer_count(), job.model.name);
}

void add_pool_violations(const Plan& plan, const JobSpec& job, const ClusterState& cluster,
                         std::vector<std::string>& violations) {
  std::map<PoolKey, std::vector<GroupsOfSize>> groups;
  for (const Stage& stage : plan.stages) {
    for (const Replica& replica : stage.replicas) groups[replica.pool].push_back({replica.tensor_parallel, 1});
  }
  for (const auto& [key, sizes] : groups) {
    const Pool* pool = cluster.find(key);
    const int need = gpus_by_pool(plan).at(key);
    const int limit = pool == nullptr ? 0 : pool->free_gpus();
    if (!job.resources.allows(key)) {
      violations.push_back(fmt::format("pool {}: the job's resources do not allow it", to_string(key)));
    }
    if (pool == nullptr || need > limit) {
      violations.push_back(
          fmt::format("pool {}: the plan needs {} of {}", to_string(key), counted(need, "GPU"), limit));
    } else if (const int left_over = pack_groups(*pool, sizes).left_over; left_over > 0) {
      violations.push_back(
          fmt::format("pool {}: {} tensor-parallel groups do not fit on any node", to_string(key), left_over));
    }
  }
}

void add_region_violations(const Plan& plan, const ClusterState& cluster, std::vector<std::string>& violations) {
  for (std::size_t index = 0; index < plan.stages.size(); ++index) {
    std::set<std::string> regions;
    for (const Replica& replica : plan.stages[index].replicas) {
      const Pool* pool = cluster.find(replica.pool);
      regions.insert((pool != nullptr ? pool->region : region_of(replica.pool.zone)).str());
    }
    if (regions.size() > 1) {
      violations.push_back(fmt::format("stage {}: its replicas are in {} regions; gradients may not cross regions",
                                       index, regions.size()));
    }
  }
}

}  // namespace

int gpu_count(const Plan& plan) {
  int sum = 0;
  for (const auto& [pool, gpus] : gpus_by_pool(plan)) sum += gpus;
  return sum;
}

std::map<PoolKey, int> gpus_by_pool(const Plan& plan) {
  std::map<PoolKey, int> gpus;
  for (const Stage& stage : plan.stages) {
    for (const Replica& replica : stage.replicas) gpus[replica.pool] += replica.tensor_parallel;
  }
  return gpus;
}

Result<void> check_well_formed(const Plan& plan, const JobSpec& job) {
  if (plan.model != job.model.name) {
    return malformed("model", "it is \"{}\", but the job trains {}; use a plan of this job", plan.model,
                     job.model.name);
  }
  if (plan.global_batch_size != job.training.global_batch_size) {
    return malformed("globalBatchSize", "it is {}, but the job has {}; use a plan of this job", plan.global_batch_size,
                     job.training.global_batch_size);
  }
  if (plan.microbatch_size < 1 || plan.global_batch_size % plan.microbatch_size != 0) {
    return malformed("microbatchSize", "{} does not divide the global batch {}; choose a divisor", plan.microbatch_size,
                     plan.global_batch_size);
  }
  if (!allows_recomputation(job.training.activation_checkpointing, plan.activation_checkpointing)) {
    return malformed("activationCheckpointing", "it is {}, but the job has training.activationCheckpointing: {}",
                     plan.activation_checkpointing, plan.activation_checkpointing ? "Never" : "Always");
  }
  if (plan.sequence_parallelism != job.training.uses_sequence_parallelism()) {
    return malformed("sequenceParallelism", "it is {}, but the job has training.sequenceParallelism: {}",
                     plan.sequence_parallelism, plan.sequence_parallelism ? "Never" : "Always");
  }
  if (!allows_peer_replicas(job.redundancy, plan.peer_replicas)) {
    return malformed("peerReplicas", "it is {}, but the job has elasticity.redundancy: {}; make them agree",
                     plan.peer_replicas, plan.peer_replicas ? "None" : "Peer");
  }
  if (auto checked = check_layers(plan, job); !checked) return checked;
  for (std::size_t index = 0; index < plan.stages.size(); ++index) {
    if (auto checked = check_replicas(plan, index); !checked) return checked;
  }
  return check_token_partition(plan, job.training.sequence_length);
}

Result<void> check_token_partition(const Plan& plan, int sequence_length) {
  if (!plan.sequence_parallelism) return {};
  for (std::size_t index = 0; index < plan.stages.size(); ++index) {
    const auto& replicas = plan.stages[index].replicas;
    for (std::size_t r = 0; r < replicas.size(); ++r) {
      if (sequence_length % replicas[r].tensor_parallel == 0) continue;
      return malformed(fmt::format("stages[{}].replicas[{}].tensorParallel", index, r),
                       "sequence parallelism partitions the tokens of a sequence evenly, but {} GPUs cannot share {}; "
                       "use a tensorParallel that divides sequenceLength",
                       replicas[r].tensor_parallel, sequence_length);
    }
  }
  return {};
}

std::vector<std::string> resource_violations(const Plan& plan, const JobSpec& job, const ClusterState& cluster) {
  std::vector<std::string> violations;
  add_pool_violations(plan, job, cluster, violations);
  add_region_violations(plan, cluster, violations);
  const int gpus = gpu_count(plan);
  if (gpus < job.resources.min_gpus) {
    violations.push_back(
        fmt::format("the plan uses {}, fewer than minGpus {}", counted(gpus, "GPU"), job.resources.min_gpus));
  }
  if (job.resources.max_gpus && gpus > *job.resources.max_gpus) {
    violations.push_back(
        fmt::format("the plan uses {}, more than maxGpus {}", counted(gpus, "GPU"), *job.resources.max_gpus));
  }
  return violations;
}

}  // namespace sailor
