#include "cli/placed_plan.h"

namespace sailor::cli {
namespace {

// A candidate for every node of the cluster. The scheduler or the autoscaler will find or create the real nodes.
std::vector<UsableNode> nodes_of(const ClusterState& cluster) {
  std::vector<UsableNode> nodes;
  for (const Pool& pool : cluster.pools) {
    for (const NodeGroup& group : pool.nodes) {
      const UsableNode node{.node = "", .node_uid = "", .pool = pool.key, .gpus = group.free_gpus, .pod = ""};
      nodes.insert(nodes.end(), static_cast<std::size_t>(group.count), node);
    }
  }
  return nodes;
}

ClusterView view_of(const ClusterState& cluster) {
  ClusterView view;
  for (const Pool& pool : cluster.pools) {
    PoolDeclaration& declaration = view.pools[pool.key];
    declaration.key = pool.key;
    declaration.region = pool.region;
    declaration.gpus_per_node = pool.gpus_per_node;
    declaration.price_per_gpu = pool.price_per_gpu;
    declaration.whole_nodes = pool.whole_nodes;
    declaration.node_lifetime = pool.node_lifetime;
  }
  return view;
}

}  // namespace

Result<Placement> placed(const Plan& plan, const ClusterState& cluster, const std::string& job) {
  const ClusterView view = view_of(cluster);
  const std::vector<UsableNode> nodes = nodes_of(cluster);
  return place({job, plan, nodes, view, {}});
}

}  // namespace sailor::cli
