// Builders: worlds for tests in one line, a_job().model("tiny-gpt2").batch(32), with defaults for everything that
// does not matter to the test.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/job_spec.h"
#include "core/model/plan.h"

namespace sailor::testing {

class JobBuilder {
 public:
  JobBuilder() {
    job_.key = {"default", "job"};
    job_.training.sequence_length = 512;
    job_.training.steps = 100;
    job_.redundancy = Redundancy::kNone;  // plans are compared by their speed or cost alone
    model("tiny-gpt2").batch(16).microbatch_sizes({1, 2, 4});
  }

  JobBuilder& named(std::string name) { return job_.key.name = std::move(name), *this; }
  JobBuilder& model(const std::string& name) { return job_.model = find_model(name).value(), *this; }
  JobBuilder& blocks(int count) { return job_.model.blocks = count, *this; }
  JobBuilder& batch(int sequences) { return job_.training.global_batch_size = sequences, *this; }
  JobBuilder& sequence_length(int tokens) { return job_.training.sequence_length = tokens, *this; }
  JobBuilder& microbatch_sizes(std::vector<int> sizes) {
    return job_.training.microbatch_sizes = std::move(sizes), *this;
  }
  JobBuilder& precision(Precision precision) { return job_.training.precision = precision, *this; }
  JobBuilder& checkpointing(ActivationCheckpointing mode) {
    return job_.training.activation_checkpointing = mode, *this;
  }
  JobBuilder& sequence_parallelism() {
    return job_.training.sequence_parallelism = SequenceParallelism::kAlways, *this;
  }
  JobBuilder& redundancy(Redundancy setting) { return job_.redundancy = setting, *this; }
  JobBuilder& checkpoint(CheckpointSpec checkpoint) { return job_.checkpoint = std::move(checkpoint), *this; }
  JobBuilder& steps(std::int64_t count) { return job_.training.steps = count, *this; }
  JobBuilder& objective(Objective objective) { return job_.objective = objective, *this; }
  JobBuilder& min_gpus(int gpus) { return job_.resources.min_gpus = gpus, *this; }
  JobBuilder& max_gpus(int gpus) { return job_.resources.max_gpus = gpus, *this; }
  JobBuilder& provisioning(ProvisioningPolicy policy) { return job_.resources.provisioning = policy, *this; }
  JobBuilder& accelerators(const std::vector<std::string>& names) {
    for (const std::string& name : names) job_.resources.accelerators.emplace_back(name);
    return *this;
  }
  JobBuilder& zones(const std::vector<std::string>& names) {
    for (const std::string& name : names) job_.resources.zones.emplace_back(name);
    return *this;
  }

  operator JobSpec() const { return job_; }  // NOLINT(google-explicit-constructor): a builder is what it builds
  [[nodiscard]] JobSpec build() const { return job_; }

 private:
  JobSpec job_;
};

inline JobBuilder a_job() { return {}; }

inline PoolKey a_key(const std::string& zone, const std::string& accelerator,
                     Provisioning provisioning = Provisioning::kOnDemand) {
  return {Zone(zone), Accelerator(accelerator), provisioning};
}

class ClusterBuilder {
 public:
  // `nodes` nodes of `gpus` GPUs, all free. What follows refers to this pool.
  ClusterBuilder& pool(const std::string& zone, const std::string& accelerator, int nodes, int gpus,
                       Provisioning provisioning = Provisioning::kOnDemand) {
    const PoolKey key = a_key(zone, accelerator, provisioning);
    cluster_.pools.push_back({.key = key,
                              .region = region_of(key.zone),
                              .gpus_per_node = gpus,
                              .nodes = {{gpus, nodes}},
                              .price_per_gpu = DollarsPerHour(1),
                              .whole_nodes = false,
                              .inter_node_bandwidth = {}});
    return *this;
  }
  // A GpuPool states the figures of this accelerator: those of the one named `like` in the catalogue.
  ClusterBuilder& describe(const std::string& accelerator, const std::string& like) {
    AcceleratorSpec spec = *find_accelerator(Accelerator(like));
    spec.name = Accelerator(accelerator);
    return describe(spec);
  }
  ClusterBuilder& describe(const AcceleratorSpec& spec) { return cluster_.accelerators.add(spec), *this; }
  ClusterBuilder& price(double dollars_an_hour) {
    return cluster_.pools.back().price_per_gpu = DollarsPerHour(dollars_an_hour), *this;
  }
  ClusterBuilder& node_lifetime(Seconds mean) { return cluster_.pools.back().node_lifetime = mean, *this; }
  ClusterBuilder& whole_nodes() { return cluster_.pools.back().whole_nodes = true, *this; }
  ClusterBuilder& partly_free(int gpus, int nodes) {
    return cluster_.pools.back().nodes.push_back({gpus, nodes}), *this;
  }

  operator ClusterState() const { return normalized(cluster_); }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] ClusterState build() const { return normalized(cluster_); }

 private:
  ClusterState cluster_;
};

inline ClusterBuilder a_cluster() { return {}; }

// Returns a plan with stages of equal replicas on one pool. Layers and microbatches are as even as possible.
inline Plan an_even_plan(const JobSpec& job, const PoolKey& pool, int stages, int replicas, int microbatch_size) {
  Plan plan{job.model.name, job.training.global_batch_size, microbatch_size, {}};
  plan.activation_checkpointing = job.training.activation_checkpointing == ActivationCheckpointing::kAlways;
  plan.sequence_parallelism = job.training.uses_sequence_parallelism();
  const int layers = job.model.layer_count();
  int first = 0;
  for (int i = 0; i < stages; ++i) {
    const int last = first + layers / stages + (i < layers % stages ? 1 : 0);
    Stage stage{first, last, {}};
    for (int r = 0; r < replicas; ++r) {
      const int share = plan.microbatches() / replicas + (r < plan.microbatches() % replicas ? 1 : 0);
      stage.replicas.push_back({pool, 1, share});
    }
    plan.stages.push_back(std::move(stage));
    first = last;
  }
  return plan;
}

}  // namespace sailor::testing
