#include "planner/replay/node_lifetimes.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include <fmt/format.h>

namespace sailor {
namespace {

// Follows the nodes of one pool through its trace.
class PoolNodes {
 public:
  PoolNodes(int index, const Pool& pool, std::uint64_t seed) : index_(index), pool_(pool), draw_(seed) {}

  void apply(const Trace& trace, const Trace::Change& change) {
    if (trace.names_nodes) {
      set_named(change);
    } else {
      set_counted(limited(pool_, trace.unit, change.amount), change.at);
    }
  }
  void keep_all() { set_counted(pool_, Seconds(0)); }
  [[nodiscard]] const std::vector<NodeLifetime>& nodes() const { return nodes_; }

 private:
  [[nodiscard]] std::vector<std::size_t> present(int gpus) const {
    std::vector<std::size_t> found;
    std::ranges::copy_if(present_, std::back_inserter(found), [&](std::size_t i) { return nodes_[i].gpus == gpus; });
    return found;
  }

  void set_counted(const Pool& now, Seconds at) {
    std::map<int, int> wanted;  // nodes by the number of their GPUs
    for (const std::size_t i : present_) wanted[nodes_[i].gpus] = 0;
    for (const NodeGroup& group : now.nodes) wanted[group.free_gpus] += group.count;
    for (const auto& [gpus, count] : wanted) set_count(gpus, count, at);
  }

  void set_count(int gpus, int count, Seconds at) {
    std::vector<std::size_t> there = present(gpus);
    const int surplus = static_cast<int>(there.size()) - count;
    for (int i = 0; i < surplus; ++i) {
      const auto drawn = static_cast<std::ptrdiff_t>(draw_() % there.size());
      remove(there[static_cast<std::size_t>(drawn)], at);
      there.erase(there.begin() + drawn);
    }
    for (int i = 0; i < -surplus; ++i) add(fmt::format("node-{}", nodes_.size()), gpus, at);
  }

  void set_named(const Trace::Change& change) {
    std::set<std::string> there;
    for (const std::size_t i : std::vector(present_)) {
      const bool stays = std::ranges::binary_search(change.nodes, nodes_[i].name);
      if (stays) there.insert(nodes_[i].name);
      if (!stays) remove(i, change.at);
    }
    for (const std::string& name : change.nodes) {
      if (there.size() >= most_nodes()) return;
      if (there.insert(name).second) add(name, pool_.gpus_of_largest_node(), change.at);
    }
  }

  [[nodiscard]] std::size_t most_nodes() const {
    std::size_t nodes = 0;
    for (const NodeGroup& group : pool_.nodes) nodes += static_cast<std::size_t>(group.count);
    return nodes;
  }

  void add(std::string name, int gpus, Seconds at) {
    present_.push_back(nodes_.size());
    nodes_.push_back({index_, std::move(name), gpus, at, kNever});
  }
  void remove(std::size_t node, Seconds at) {
    nodes_[node].leaves = at;
    std::erase(present_, node);
  }

  int index_;
  const Pool& pool_;
  std::mt19937_64 draw_;
  std::vector<NodeLifetime> nodes_;
  std::vector<std::size_t> present_;  // the indices of those that have not left
};

}  // namespace

std::vector<NodeLifetime> node_lifetimes(const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                                         std::uint64_t seed) {
  std::vector<NodeLifetime> all;
  for (int i = 0; i < std::ssize(cluster.pools); ++i) {
    const Pool& pool = cluster.pools[static_cast<std::size_t>(i)];
    PoolNodes nodes(i, pool, seed + static_cast<std::uint64_t>(i));
    const auto trace = traces.find(pool.key);
    if (trace == traces.end()) {
      nodes.keep_all();
    } else {
      for (const Trace::Change& change : trace->second.changes) nodes.apply(trace->second, change);
    }
    all.insert(all.end(), nodes.nodes().begin(), nodes.nodes().end());
  }
  std::ranges::stable_sort(all, {}, &NodeLifetime::joins);
  return all;
}

std::string names_at(const std::vector<NodeLifetime>& nodes, Seconds time) {
  std::string names;
  for (const NodeLifetime& node : nodes) {
    if (node.joins <= time && time < node.leaves) names += (names.empty() ? "" : " ") + node.name;
  }
  return names;
}

}  // namespace sailor
