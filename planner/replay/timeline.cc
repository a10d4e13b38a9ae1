#include "planner/replay/timeline.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace sailor {
namespace {

Seconds usable_from(const NodeLifetime& node, const NodeTimes& times) {
  return node.joins > Seconds(0) ? node.joins + times.start : node.joins;
}
Seconds usable_until(const NodeLifetime& node, const NodeTimes& times) { return node.leaves - times.notice; }

// Counts nodes in and out as time passes.
class Sweep {
 public:
  Sweep(const ClusterState& cluster, const std::vector<NodeLifetime>& nodes, const PricesOfPools& prices,
        const NodeTimes& times)
      : cluster_(cluster), nodes_(nodes), prices_(prices), gpus_(cluster.pools.size(), 0) {
    for (int i = 0; i < std::ssize(nodes); ++i) {
      const NodeLifetime& node = nodes[static_cast<std::size_t>(i)];
      events_[node.joins].emplace_back(Event::kJoins, i);
      events_[node.leaves].emplace_back(Event::kLeaves, i);
      if (usable_from(node, times) >= usable_until(node, times)) continue;
      events_[usable_from(node, times)].emplace_back(Event::kStarts, i);
      events_[usable_until(node, times)].emplace_back(Event::kIsNoticed, i);
    }
    for (const auto& [pool, changes] : prices) {
      for (const PriceChange& change : changes) events_[change.at];
    }
    events_[Seconds(0)];
  }

  Timeline run(Seconds end) {
    Timeline timeline{.nodes = {}, .moments = {}, .clusters = {}, .end = end};
    for (const auto& [at, events] : events_) {
      if (at >= end) break;
      for (const auto& [event, node] : events) apply(event, node);
      timeline.moments.push_back(moment(at, timeline.clusters));
    }
    return timeline;
  }

 private:
  enum class Event { kJoins, kLeaves, kStarts, kIsNoticed };

  void apply(Event event, int node) {
    const NodeLifetime& of = nodes_[static_cast<std::size_t>(node)];
    if (event == Event::kJoins) gpus_[static_cast<std::size_t>(of.pool)] += of.gpus;
    if (event == Event::kLeaves) gpus_[static_cast<std::size_t>(of.pool)] -= of.gpus;
    if (event == Event::kStarts) usable_.insert(node);
    if (event == Event::kIsNoticed) usable_.erase(node);
  }

  Moment moment(Seconds at, std::vector<ClusterState>& clusters) {
    Moment now{at, 0, {usable_.begin(), usable_.end()}, gpus_, {}};
    for (const Pool& pool : cluster_.pools) now.prices.push_back(price_of(pool, at));
    std::map<std::tuple<int, int>, int> groups;  // (pool, GPUs of a node) to nodes
    for (const int node : usable_) {
      const NodeLifetime& of = nodes_[static_cast<std::size_t>(node)];
      ++groups[{of.pool, of.gpus}];
    }
    const auto [known, is_new] = ids_.try_emplace({groups, now.prices}, static_cast<int>(clusters.size()));
    if (is_new) clusters.push_back(cluster_of(groups, now.prices));
    now.cluster = known->second;
    return now;
  }

  [[nodiscard]] DollarsPerHour price_of(const Pool& pool, Seconds at) const {
    DollarsPerHour price = pool.price_per_gpu;
    const auto changes = prices_.find(pool.key);
    if (changes == prices_.end()) return price;
    for (const PriceChange& change : changes->second) {
      if (change.at <= at) price = change.per_gpu;
    }
    return price;
  }

  [[nodiscard]] ClusterState cluster_of(const std::map<std::tuple<int, int>, int>& groups,
                                        const std::vector<DollarsPerHour>& prices) const {
    ClusterState now = cluster_;
    for (std::size_t i = 0; i < now.pools.size(); ++i) {
      now.pools[i].nodes.clear();
      now.pools[i].price_per_gpu = prices[i];
    }
    for (const auto& [group, count] : groups) {
      const auto [pool, gpus] = group;
      now.pools[static_cast<std::size_t>(pool)].nodes.push_back({gpus, count});
    }
    return normalized(std::move(now));
  }

  const ClusterState& cluster_;
  const std::vector<NodeLifetime>& nodes_;
  const PricesOfPools& prices_;
  std::map<Seconds, std::vector<std::pair<Event, int>>> events_;
  std::vector<int> gpus_;
  std::set<int> usable_;
  std::map<std::pair<std::map<std::tuple<int, int>, int>, std::vector<DollarsPerHour>>, int> ids_;
};

}  // namespace

Timeline timeline_of(const ClusterState& cluster, std::vector<NodeLifetime> nodes, const PricesOfPools& prices,
                     const NodeTimes& times, Seconds end) {
  Timeline timeline = Sweep(cluster, nodes, prices, times).run(end);
  timeline.nodes = std::move(nodes);
  return timeline;
}

}  // namespace sailor
