#include "operator/metrics/pool_series.h"

#include <array>

namespace sailor {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::Labels;

constexpr std::array kStates = {"allocatable", "used", "terminating"};

Labels labels_of(const PoolKey& key) {
  return {{"pool", to_string(key)},
          {"accelerator", key.accelerator.str()},
          {"zone", key.zone.str()},
          {"provisioning", std::string(to_string(key.provisioning))}};
}

Labels labels_of(const PoolKey& key, const char* state) {
  Labels labels = labels_of(key);
  labels.emplace("state", state);
  return labels;
}

}  // namespace

PoolSeries::PoolSeries(prometheus::Registry& registry)
    : gpus_(BuildGauge().Name("sailor_pool_gpus").Help("GPUs of a pool by state.").Register(registry)),
      price_(BuildGauge()
                 .Name("sailor_pool_price_dollars_per_gpu_hour")
                 .Help("US dollars per hour for one GPU of the pool.")
                 .Register(registry)),
      awaited_(BuildGauge()
                   .Name("sailor_pool_awaited_nodes")
                   .Help("New nodes of the pool that pods of jobs wait for.")
                   .Register(registry)),
      preemptions_(BuildCounter()
                       .Name("sailor_pool_preemptions_total")
                       .Help("Spot nodes that were taken away, with or without notice.")
                       .Register(registry)) {}

PoolSeries::Pool& PoolSeries::pool_of(const PoolKey& key) {
  Pool& pool = pools_[key];
  if (pool.price != nullptr) return pool;
  for (const char* state : kStates) pool.gpus[state] = &gpus_.Add(labels_of(key, state));
  pool.price = &price_.Add(labels_of(key));
  pool.awaited = &awaited_.Add(labels_of(key));
  if (key.provisioning == Provisioning::kSpot) preemptions_of(key);  // the series begins at 0
  return pool;
}

prometheus::Counter& PoolSeries::preemptions_of(const PoolKey& key) { return preemptions_.Add(labels_of(key)); }

void PoolSeries::note_gpus(const ClusterView& view) {
  const auto uses = use_of_pools(view);
  for (const auto& [key, declaration] : view.pools) {
    const Pool& pool = pool_of(key);
    pool.price->Set(declaration.price_per_gpu.value());
    const auto awaited = view.awaited.find(key);
    pool.awaited->Set(awaited == view.awaited.end() ? 0 : awaited->second.pods);
    const PoolUse& use = uses.at(key);
    pool.gpus.at("allocatable")->Set(use.allocatable);
    pool.gpus.at("used")->Set(use.used);
    pool.gpus.at("terminating")->Set(use.terminating);
  }
}

// A spot node counts once: when its end is announced, or when it is gone. It does not count if it is removed on
// purpose.
void PoolSeries::count_preemptions(const ClusterView& view) {
  std::map<std::string, SpotNode> now;
  for (const NodeView& node : view.nodes) {
    if (node.pool.provisioning != Provisioning::kSpot) continue;
    const auto before = spot_nodes_.find(node.uid);
    const bool was_counted = before != spot_nodes_.end() && before->second.is_counted;
    const bool is_preempted = node.is_terminating && !node.is_removed_on_purpose();
    if (is_preempted && !was_counted && has_seen_nodes_) preemptions_of(node.pool).Increment();
    now[node.uid] = {node.pool, node.is_removed_on_purpose(), is_preempted || was_counted};
  }
  for (const auto& [uid, node] : spot_nodes_) {
    const bool is_gone = !view.node_uids.contains(uid);
    if (is_gone && !node.is_removed_on_purpose && !node.is_counted) preemptions_of(node.pool).Increment();
  }
  spot_nodes_ = std::move(now);
  has_seen_nodes_ = true;
}

void PoolSeries::forget_missing_pools(const ClusterView& view) {
  std::erase_if(pools_, [&](const auto& entry) {
    if (view.pools.contains(entry.first)) return false;
    for (const auto& [state, gauge] : entry.second.gpus) gpus_.Remove(gauge);
    price_.Remove(entry.second.price);
    awaited_.Remove(entry.second.awaited);
    return true;
  });
}

void PoolSeries::note(const ClusterView& view) {
  note_gpus(view);
  count_preemptions(view);
  forget_missing_pools(view);
}

}  // namespace sailor
