// PoolSeries: the Prometheus series of all pools of the cluster.
#pragma once

#include <map>
#include <set>
#include <string>

#include "operator/metrics/series_registry.h"
#include "operator/model/cluster_view.h"
#include "operator/model/pool_history.h"

namespace sailor {

class PoolSeries {
 public:
  explicit PoolSeries(SeriesRegistry& registry);

  void note(const ClusterView& view, const PoolHistories& histories);

 private:
  struct Pool {
    std::map<std::string, prometheus::Gauge*> gpus;  // by state
    prometheus::Gauge* price = nullptr;
    prometheus::Gauge* awaited = nullptr;
  };
  Pool& pool_of(const PoolKey& key);
  // Their series stay when the pool goes, because a pool without a GpuPool goes with its last node.
  prometheus::Counter& preemptions_of(const PoolKey& key);
  void note_gpus(const ClusterView& view);
  void note_preemptions(const PoolHistories& histories);
  void forget_missing_pools(const ClusterView& view);

  SeriesFamily<prometheus::Gauge>& gpus_;
  SeriesFamily<prometheus::Gauge>& price_;
  SeriesFamily<prometheus::Gauge>& awaited_;
  SeriesFamily<prometheus::Counter>& preemptions_;
  std::map<PoolKey, Pool> pools_;
};

}  // namespace sailor
