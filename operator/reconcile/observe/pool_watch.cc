#include "operator/reconcile/observe/pool_watch.h"

#include <algorithm>
#include <optional>

namespace sailor {
namespace {

using StoredHistories = std::map<PoolKey, NodeHistory>;

// Nodes that change within such a period change at once.
constexpr std::chrono::seconds kAtOnce{10};

StoredHistories histories_of(const std::vector<kube::Object>& gpu_pools, const ClusterView& view, Time now) {
  StoredHistories stored;
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

// Replaces the histories that end before the stored ones. Returns their pools.
std::set<PoolKey> take_up(const StoredHistories& stored, PoolHistories& histories) {
  std::set<PoolKey> taken_up;
  for (const auto& [key, history] : stored) {
    const auto own = histories.find(key);
    if (own != histories.end() && own->second.nodes.at >= history.at) continue;
    histories[key].nodes = history;
    taken_up.insert(key);
  }
  return taken_up;
}

}  // namespace

void PoolWatch::add_to(NodeHistory& history, const Events& events, Seconds now) {
  if (events.removed > 0) history.add_removed(now, events.removed);
  if (events.lost > 0) history.add_lost(now, events.lost);
  if (events.joined > 0) history.add_joined(now, events.joined);
}

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

void PoolWatch::apply(const EventsByPool& events, const StoredHistories& stored, Time now) {
  if (events.empty() && stored.empty()) return;
  const Seconds time = history_time(now - now.time_since_epoch() % kAtOnce);
  auto next = std::make_shared<PoolHistories>(*histories_);
  std::set<PoolKey> begun = take_up(stored, *next);
  for (const auto& [key, happened] : events) {
    const auto [pool, is_new] = next->try_emplace(key, PoolHistory{.nodes = {.at = time, .node_time = {}}});
    if (is_new) begun.insert(key);
    if (!is_new) pool->second.lost += happened.lost;
    if (begun.contains(key)) continue;
    end_by(time, pool->second.nodes);
    add_to(pool->second.nodes, happened, time);
  }
  for (const PoolKey& key : begun) {
    NodeHistory& history = next->at(key).nodes;
    end_by(time, history);
    history.pass_until(time);
    history.nodes = count_nodes(key);
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
