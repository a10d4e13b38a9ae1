#include "operator/metrics/pool_series.h"

#include <array>

namespace sailor {
namespace {

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

PoolSeries::PoolSeries(SeriesRegistry& registry)
    : gpus_(registry.gauge("sailor_pool_gpus", "GPUs of a pool by state.")),
      price_(registry.gauge("sailor_pool_price_dollars_per_gpu_hour", "US dollars per hour for one GPU of the pool.")),
      awaited_(registry.gauge("sailor_pool_awaited_nodes", "New nodes of the pool that pods of jobs wait for.")),
      preemptions_(registry.counter("sailor_pool_preemptions_total",
                                    "Spot nodes that were taken away, with or without notice.")) {}

PoolSeries::Pool& PoolSeries::pool_of(const PoolKey& key) {
  Pool& pool = pools_[key];
  if (pool.price != nullptr) return pool;
  for (const char* state : kStates) pool.gpus[state] = &gpus_.add(labels_of(key, state));
  pool.price = &price_.add(labels_of(key));
  pool.awaited = &awaited_.add(labels_of(key));
  if (key.provisioning == Provisioning::kSpot) preemptions_of(key);  // the series begins at 0
  return pool;
}

prometheus::Counter& PoolSeries::preemptions_of(const PoolKey& key) { return preemptions_.add(labels_of(key)); }

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

void PoolSeries::note_preemptions(const PoolHistories& histories) {
  for (const auto& [key, history] : histories) {
    if (key.provisioning == Provisioning::kSpot) raise_to(preemptions_of(key), static_cast<double>(history.lost));
  }
}

void PoolSeries::forget_missing_pools(const ClusterView& view) {
  std::erase_if(pools_, [&](const auto& entry) {
    if (view.pools.contains(entry.first)) return false;
    for (const auto& [state, gauge] : entry.second.gpus) gpus_.remove(gauge);
    price_.remove(entry.second.price);
    awaited_.remove(entry.second.awaited);
    return true;
  });
}

void PoolSeries::note(const ClusterView& view, const PoolHistories& histories) {
  note_gpus(view);
  note_preemptions(histories);
  forget_missing_pools(view);
}

}  // namespace sailor
