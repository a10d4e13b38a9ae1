#include "core/model/node_packing.h"

#include <algorithm>
#include <functional>

namespace sailor {
namespace {

// Nodes with the same number of GPUs left. Used ones come first, then those with fewer GPUs left.
struct NodeClass {
  int left = 0;
  int count = 0;
  std::size_t group = 0;  // index in Pool::nodes
  bool is_used = false;

  friend bool operator<(const NodeClass& a, const NodeClass& b) {
    if (a.is_used != b.is_used) return a.is_used;
    return a.left != b.left ? a.left < b.left : a.group < b.group;
  }
};

std::vector<NodeClass> free_nodes(const Pool& pool) {
  std::vector<NodeClass> nodes;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const NodeGroup& group = pool.nodes[i];
    if (!pool.whole_nodes || pool.is_whole(group)) nodes.push_back({group.free_gpus, group.count, i});
  }
  return nodes;
}

// Places groups on the nodes of one class and returns the number of groups that remain.
int fill(NodeClass& nodes, int size, int count, std::vector<NodeClass>& changed) {
  const int in_a_node = nodes.left / size;
  if (in_a_node == 0 || count == 0) return count;
  const int full = std::min(nodes.count, count / in_a_node);
  if (full > 0) changed.push_back({nodes.left - in_a_node * size, full, nodes.group, true});
  nodes.count -= full;
  count -= full * in_a_node;
  if (nodes.count > 0 && count > 0) {
    changed.push_back({nodes.left - count * size, 1, nodes.group, true});
    --nodes.count;
    count = 0;
  }
  return count;
}

}  // namespace

PackedGroups pack_groups(const Pool& pool, const std::vector<GroupsOfSize>& groups) {
  std::vector<GroupsOfSize> largest_first = groups;
  std::ranges::sort(largest_first, std::greater<>(), &GroupsOfSize::size);
  std::vector<NodeClass> nodes = free_nodes(pool);
  std::vector<NodeClass> changed;
  PackedGroups packing;
  for (std::size_t i = 0; i < largest_first.size();) {
    const int size = largest_first[i].size;
    int count = 0;
    for (; i < largest_first.size() && largest_first[i].size == size; ++i) count += largest_first[i].count;
    std::ranges::sort(nodes, std::less<>());
    changed.clear();
    for (NodeClass& node : nodes) count = fill(node, size, count, changed);
    packing.left_over += count;
    std::erase_if(nodes, [](const NodeClass& node) { return node.count == 0; });
    nodes.insert(nodes.end(), changed.begin(), changed.end());
  }
  packing.nodes_of_group.resize(pool.nodes.size());
  for (const NodeClass& node : nodes) {
    if (!node.is_used) continue;
    packing.nodes_used += node.count;
    packing.nodes_of_group[node.group] += node.count;
  }
  return packing;
}

}  // namespace sailor
