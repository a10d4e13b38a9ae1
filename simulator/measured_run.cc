#include "simulator/measured_run.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/model/check.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

// Every replica has a node of its own.
ClusterState cluster_of(const Plan& plan) {
  std::map<PoolKey, Pool> pools;
  for (const Stage& stage : plan.stages) {
    for (const Replica& replica : stage.replicas) {
      Pool& pool = pools.try_emplace(replica.pool, Pool{.key = replica.pool}).first->second;
      pool.gpus_per_node = std::max(pool.gpus_per_node, replica.tensor_parallel);
      pool.nodes.push_back({replica.tensor_parallel, 1});
    }
  }
  ClusterState cluster;
  for (auto& [key, pool] : pools) cluster.pools.push_back(std::move(pool));
  return normalized(std::move(cluster));
}

// The execution model's latency of a message contains that of the network.
NetworkModel network_of(const NetworkMeasurements& measured) {
  NetworkModel network = google_cloud_network();
  for (Link& tier : network.tiers) tier.latency = Seconds(0);
  network.measured = measured;
  return network;
}

Result<void> check_measured(const MeasuredRun& run, const ClusterState& cluster, const ProfileBook& profiles,
                            const NetworkMeasurements& network) {
  const bool has_messages = run.plan.stages.size() > 1 || run.plan.stages.front().replicas.size() > 1;
  for (const Pool& pool : cluster.pools) {
    const Accelerator& accelerator = pool.key.accelerator;
    if (cluster.accelerators.find(accelerator) == nullptr) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("accelerator {} is not in the catalogue; add it to core/model/accelerators.json",
                              accelerator.str()));
    }
    if (profiles.find(run.job, accelerator) == nullptr) {
      return fail(ErrorCode::kNotFound, fmt::format("no profile of {} on {}; measure one or add it to the folder",
                                                    run.job.model.name, accelerator.str()));
    }
    if (!has_messages) continue;
    for (const Pool& other : cluster.pools) {
      const MeasuredEndpoint from{pool.key.zone, accelerator, 1};
      const MeasuredEndpoint to{other.key.zone, other.key.accelerator, 1};
      if (network.between(from, to) != nullptr) continue;
      return fail(ErrorCode::kNotFound, fmt::format("no bandwidth between {} and {} was measured; add it to the folder",
                                                    accelerator.str(), other.key.accelerator.str()));
    }
  }
  return {};
}

}  // namespace

Result<ExecutionModel> execution_of(const MeasuredRun& run) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kClusters = {
      {{"nvidia-gh200", "deepspeed"},
       {"nvidia-titan-rtx", "deepspeed-ethernet"},
       {"nvidia-rtx-2080", "deepspeed-ethernet"},
       {"nvidia-rtx-3090", "deepspeed-ethernet"}}};
  const Accelerator& accelerator = run.plan.stages.front().replicas.front().pool.accelerator;
  const auto cluster =
      std::ranges::find(kClusters, accelerator.str(), &std::pair<std::string_view, std::string_view>::first);
  if (cluster == kClusters.end()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("it is not known how the cluster with {} executes plans; say it with --execution",
                            accelerator.str()));
  }
  return *find_execution_model(cluster->second);
}

Result<RunEstimate> estimate_run(const MeasuredRun& run, const ProfileBook& profiles,
                                 const NetworkMeasurements& network, const ExecutionModel& execution) {
  const ClusterState cluster = cluster_of(run.plan);
  if (auto checked = check_measured(run, cluster, profiles, network); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  return Simulator(profiles, network_of(network), execution)
      .simulate(run.job, cluster, run.plan)
      .map([](const Estimate& estimate) {
        RunEstimate result{estimate.iteration, Bytes(0)};
        for (const MemoryBreakdown& stage : estimate.memory) result.memory = std::max(result.memory, stage.total());
        return result;
      });
}

}  // namespace sailor
