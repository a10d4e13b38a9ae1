#include "operator/reconcile/observe/pool_watch.h"

#include <algorithm>
#include <optional>

namespace sailor {
namespace {

// Nodes that change within such a period change at once.
constexpr std::chrono::seconds kAtOnce{10};

PoolHistories histories_of(const std::vector<kube::Object>& gpu_pools, const ClusterView& view, Time now) {
  PoolHistories stored;
  for (const auto& [key, declaration] : view.pools) {
    const auto object =
        std::ranges::find(gpu_pools, declaration.name, [](const auto& pool) { return kube::name_of(*pool); });
    if (object == gpu_pools.end()) continue;
    if (const auto history = history_of(**object, now)) stored[key] = *history;
  }
  return stored;
}

// Nothing has happened after `now`, whatever the clock said before.
void end_by(Seconds now, NodeHistory& history) {
  history.at = std::min(history.at, now);
  history.last_drop = std::min(history.last_drop, now);
  history.last_arrival = std::min(history.last_arrival, now);
}

}  // namespace

int PoolWatch::count_nodes(const PoolKey& pool) const {
  return static_cast<int>(std::ranges::count_if(
      nodes_, [&](const auto& entry) { return entry.second.pool == pool && !entry.second.is_announced; }));
}

void PoolWatch::take(const ClusterView& view, const std::string& name, EventsByPool& events) {
  const NodeView* node = view.find_node(name);
  std::optional<WatchedNode> before;
  if (const auto known = nodes_.find(name); known != nodes_.end()) before = known->second;
  std::optional<WatchedNode> after;
  if (node != nullptr) after = {node->uid, node->pool, node->is_terminating, node->is_removed_on_purpose()};
  const bool is_same = before && after && before->uid == after->uid && before->pool == after->pool;
  if (before && !before->is_announced && !(is_same && !after->is_announced)) {
    const bool is_on_purpose = is_same ? after->is_removed_on_purpose : before->is_removed_on_purpose;
    const bool still_exists = !is_same && view.node_uids.contains(before->uid);
    Events& of_pool = events[before->pool];
    ++(is_on_purpose || still_exists ? of_pool.removed : of_pool.lost);
  }
  const bool was_present = is_same && !before->is_announced;
  if (after && !after->is_announced && !was_present) ++events[after->pool].joined;
  if (after) {
    nodes_[name] = *std::move(after);
  } else {
    nodes_.erase(name);
  }
}

void PoolWatch::apply(const EventsByPool& events, const PoolHistories& stored, Time now) {
  if (events.empty() && stored.empty()) return;
  const Seconds time = history_time(now - now.time_since_epoch() % kAtOnce);
  auto next = std::make_shared<PoolHistories>(*histories_);
  std::set<PoolKey> taken_up;
  for (const auto& [pool, history] : stored) {
    const auto own = next->find(pool);
    if (own != next->end() && own->second.at >= history.at) continue;
    (*next)[pool] = history;
    taken_up.insert(pool);
  }
  for (const auto& [pool, happened] : events) {
    const bool is_new = next->try_emplace(pool, NodeHistory{.at = time, .node_time = {}}).second;
    NodeHistory& history = next->at(pool);
    end_by(time, history);
    if (is_new || taken_up.contains(pool)) continue;
    if (happened.removed > 0) history.add_removed(time, happened.removed);
    if (happened.lost > 0) history.add_lost(time, happened.lost);
    if (happened.joined > 0) history.add_joined(time, happened.joined);
  }
  for (auto& [pool, history] : *next) {
    end_by(time, history);
    const int nodes = count_nodes(pool);
    if (history.nodes == nodes) continue;
    history.pass_until(time);
    history.nodes = nodes;
  }
  histories_ = std::move(next);
}

void PoolWatch::observe_all(const ClusterView& view, const std::vector<kube::Object>& gpu_pools, Time now) {
  std::set<std::string> names;
  for (const auto& [name, node] : nodes_) names.insert(name);
  for (const NodeView& node : view.nodes) names.insert(node.name);
  EventsByPool events;
  for (const std::string& name : names) take(view, name, events);
  apply(events, histories_of(gpu_pools, view, now), now);
}

void PoolWatch::observe(const ClusterView& view, const std::set<std::string>& names, Time now) {
  EventsByPool events;
  for (const std::string& name : names) take(view, name, events);
  apply(events, {}, now);
}

}  // namespace sailor
