#include "planner/model/plan.h"

#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "planner/model/node_packing.h"
#include "planner/model/plan_json.h"

namespace sailor {
namespace {

// FNV-1a: the same on every machine, and a plan's name needs no defence against an adversary.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211ULL;
  }
  return hash;
}

Result<void> malformed(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "the plan is not well-formed: " + what);
}

Result<void> check_stage(const Plan& plan, std::size_t index, int expected_first) {
  const Stage& stage = plan.stages[index];
  if (stage.first_layer != expected_first || stage.last_layer <= stage.first_layer) {
    return malformed(fmt::format("stage {} has layers [{}, {}), where a range that starts at {} was due", index,
                                 stage.first_layer, stage.last_layer, expected_first));
  }
  std::int64_t microbatches = 0;
  for (const Replica& replica : stage.replicas) {
    if (replica.tensor_parallel < 1 || replica.microbatches < 1) {
      return malformed(fmt::format("stage {} has a replica with tensorParallel {} and microbatches {}; both start at 1",
                                   index, replica.tensor_parallel, replica.microbatches));
    }
    microbatches += replica.microbatches;
  }
  if (microbatches != plan.microbatches()) {
    return malformed(fmt::format("the replicas of stage {} do {} microbatches of the step's {}", index, microbatches,
                                 plan.microbatches()));
  }
  return {};
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
      violations.push_back(fmt::format("pool {}: the plan needs {} GPUs of {}", to_string(key), need, limit));
    } else if (const int left_over = pack_groups(*pool, sizes).left_over; left_over > 0) {
      violations.push_back(
          fmt::format("pool {}: {} tensor-parallel groups find no node with room for them", to_string(key), left_over));
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
      violations.push_back(fmt::format("stage {}: its replicas lie in {} regions; gradients may not cross regions",
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

std::string plan_hash(const Plan& plan) { return fmt::format("{:016x}", fnv1a(to_json(plan).dump())); }

Result<void> check_well_formed(const Plan& plan, const JobSpec& job) {
  if (plan.model != job.model.name) {
    return malformed(fmt::format("it is of model {}, the job trains {}", plan.model, job.model.name));
  }
  if (plan.global_batch_size != job.training.global_batch_size) {
    return malformed(
        fmt::format("its global batch is {}, the job's is {}", plan.global_batch_size, job.training.global_batch_size));
  }
  if (plan.microbatch_size < 1 || plan.global_batch_size % plan.microbatch_size != 0) {
    return malformed(fmt::format("microbatch size {} does not divide the global batch {}", plan.microbatch_size,
                                 plan.global_batch_size));
  }
  if (!may_recompute(job.training.activation_checkpointing, plan.activation_checkpointing)) {
    return malformed(
        fmt::format("activationCheckpointing is {}, against the job's training.activationCheckpointing: {}",
                    plan.activation_checkpointing, plan.activation_checkpointing ? "Never" : "Always"));
  }
  int layer = 0;
  for (std::size_t index = 0; index < plan.stages.size(); ++index) {
    if (auto checked = check_stage(plan, index, layer); !checked) return checked;
    layer = plan.stages[index].last_layer;
  }
  if (layer != job.model.layer_count()) {
    return malformed(fmt::format("its stages end at layer {} of {}", layer, job.model.layer_count()));
  }
  return {};
}

std::vector<std::string> resource_violations(const Plan& plan, const JobSpec& job, const ClusterState& cluster) {
  std::vector<std::string> violations;
  add_pool_violations(plan, job, cluster, violations);
  add_region_violations(plan, cluster, violations);
  const int gpus = gpu_count(plan);
  if (gpus < job.resources.min_gpus) {
    violations.push_back(fmt::format("{} GPUs are fewer than minGpus {}", gpus, job.resources.min_gpus));
  }
  if (job.resources.max_gpus && gpus > *job.resources.max_gpus) {
    violations.push_back(fmt::format("{} GPUs are more than maxGpus {}", gpus, *job.resources.max_gpus));
  }
  return violations;
}

}  // namespace sailor
