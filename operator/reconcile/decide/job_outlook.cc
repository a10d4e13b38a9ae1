#include "operator/reconcile/decide/job_outlook.h"

#include <algorithm>

#include "planner/replan/look_ahead.h"

namespace sailor {
namespace {

bool is_loss_of_nodes(Reason reason) {
  return reason == Reason::kNodePreempted || reason == Reason::kNodeTerminating || reason == Reason::kNodeLost;
}

// Without maxNodes somebody else may add nodes at any time.
PoolOutlook outlook_of(const PoolDeclaration& pool, NodeHistory history, Seconds now) {
  history.pass_until(std::max(now, history.at));
  return {history, pool_of(pool, 0).expected_node_lifetime(), std::max(1, pool.gpus_per_node), pool.max_nodes};
}

}  // namespace

DropOutcomes drop_outcomes(const std::vector<RescaleStatus>& rescales) {
  DropOutcomes outcomes;
  for (const RescaleStatus& rescale : rescales) {
    if (!is_loss_of_nodes(rescale.reason) || !rescale.steps_lost) continue;
    outcomes.add(history_time(rescale.time), *rescale.steps_lost <= 1);
  }
  return outcomes;
}

std::optional<JobOutlook> JobOutlook::of(const Observation& observation) {
  JobOutlook outlook;
  for (const auto& [key, history] : *observation.histories) {
    const auto pool = observation.cluster->pools.find(key);
    if (pool == observation.cluster->pools.end() || !observation.job.spec->resources.allows(key)) continue;
    outlook.keys_.push_back(key);
    outlook.pools_.push_back(outlook_of(pool->second, history.nodes, history_time(observation.now)));
  }
  if (!looks_ahead(observation.job.spec->look_ahead, drops_of(outlook.pools_))) return std::nullopt;
  outlook.outcomes_ = drop_outcomes(observation.job.status.rescales);
  return outlook;
}

// The slow GPUs of a pool are on its nodes, too.
std::vector<int> JobOutlook::in_order(const std::map<PoolKey, int>& gpus) const {
  std::vector<int> ordered(keys_.size());
  for (const auto& [graded, count] : gpus) {
    PoolKey pool = graded;
    pool.grade = 0;
    const auto found = std::ranges::find(keys_, pool);
    if (found != keys_.end()) ordered[static_cast<std::size_t>(found - keys_.begin())] += count;
  }
  return ordered;
}

Seconds JobOutlook::time_until_change(const std::map<PoolKey, int>& gpus) const {
  return sailor::time_until_change(pools_, in_order(gpus));
}

double JobOutlook::failures_per_hour(const std::map<PoolKey, int>& gpus) const {
  return interruptions_per_second(pools_, in_order(gpus)) * outcomes_.unsaved_share() * 3600;
}

}  // namespace sailor
