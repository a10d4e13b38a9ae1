// PoolSeries: the Prometheus series of all pools of the cluster.
#pragma once

#include <map>
#include <set>
#include <string>

#include "operator/metrics/series_registry.h"
#include "operator/model/cluster_view.h"

namespace sailor {

class PoolSeries {
 public:
  explicit PoolSeries(SeriesRegistry& registry);

  void note(const ClusterView& view);  // call it regularly: a node that comes and goes in between is not seen

 private:
  struct Pool {
    std::map<std::string, prometheus::Gauge*> gpus;  // by state
    prometheus::Gauge* price = nullptr;
    prometheus::Gauge* awaited = nullptr;
  };
  struct SpotNode {
    PoolKey pool;
    bool is_removed_on_purpose = false;
    bool is_counted = false;
  };

  Pool& pool_of(const PoolKey& key);
  // Their series stay when the pool goes, because a pool without a GpuPool goes with its last node.
  prometheus::Counter& preemptions_of(const PoolKey& key);
  void note_gpus(const ClusterView& view);
  void count_preemptions(const ClusterView& view);
  void forget_missing_pools(const ClusterView& view);

  SeriesFamily<prometheus::Gauge>& gpus_;
  SeriesFamily<prometheus::Gauge>& price_;
  SeriesFamily<prometheus::Gauge>& awaited_;
  SeriesFamily<prometheus::Counter>& preemptions_;
  std::map<PoolKey, Pool> pools_;
  std::map<std::string, SpotNode> spot_nodes_;  // by UID
  bool has_seen_nodes_ = false;
};

}  // namespace sailor
