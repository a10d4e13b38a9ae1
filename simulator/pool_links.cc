#include "simulator/pool_links.h"

#include <algorithm>

namespace sailor {
namespace {

// Adds what was measured between nodes of these pools: the rate of one GPU, because a message between stages uses one.
void add_curve(const Pool& a, const Pool& b, const NetworkModel& network, Link& link) {
  if (network.has_override(a.key.zone, b.key.zone)) return;
  const MeasuredEndpoint from{a.key.zone, a.key.accelerator, 1};
  const MeasuredEndpoint to{b.key.zone, b.key.accelerator, 1};
  if (const BandwidthCurve* curve = network.measured.between(from, to)) link.curve = *curve;
}

// The declared bandwidth of a pool's NICs replaces the network model's within the zone. Between zones it can only be a
// further limit.
Link link_between(const Pool& a, const Pool& b, const NetworkModel& network) {
  Link link = network.between({a.key.zone, a.region}, {b.key.zone, b.region});
  const auto limit = [&](const Pool& pool) {
    if (pool.inter_node_bandwidth) link.bandwidth = std::min(link.bandwidth, *pool.inter_node_bandwidth);
  };
  if (a.key.zone == b.key.zone && a.inter_node_bandwidth && b.inter_node_bandwidth) {
    link.bandwidth = std::min(*a.inter_node_bandwidth, *b.inter_node_bandwidth);
    return link;
  }
  limit(a);
  limit(b);
  if (!a.inter_node_bandwidth && !b.inter_node_bandwidth) add_curve(a, b, network, link);
  return link;
}

// These curves were measured with all GPUs of a node together.
NodeNic nic_of(const Pool& pool, const NetworkModel& network) {
  NodeNic nic{.rate = pool.inter_node_bandwidth, .curve = {}};
  const MeasuredEndpoint end{pool.key.zone, pool.key.accelerator, pool.gpus_per_node};
  if (const BandwidthCurve* curve = network.measured.between(end, end)) nic.curve = *curve;
  return nic;
}

// The GPUs of a node share the way to another region, which has a small part of the NIC's rate. Four GPUs were measured
// to send at 1.2 to 1.9 times the rate of one.
NodeNic path_between(const Pool& a, const Pool& b, const NetworkModel& network) {
  const bool is_declared = a.inter_node_bandwidth || b.inter_node_bandwidth;
  if (a.region == b.region || is_declared || network.has_override(a.key.zone, b.key.zone)) return {};
  NodeNic path;
  const MeasuredEndpoint from{a.key.zone, a.key.accelerator, a.gpus_per_node};
  const MeasuredEndpoint to{b.key.zone, b.key.accelerator, b.gpus_per_node};
  if (const BandwidthCurve* curve = network.measured.between(from, to)) path.curve = *curve;
  return path;
}

}  // namespace

PoolLinks::PoolLinks(const ClusterState& cluster, const NetworkModel& network)
    : pools_(cluster.pools.size()), inside_nodes_(pools_, network.tier(NetworkTier::kNode)), shared_nodes_(cluster) {
  const Bytes probe(1e6);
  links_.reserve(pools_ * pools_);
  for (std::size_t i = 0; i < pools_; ++i) {
    const Pool& a = cluster.pools[i];
    if (const auto* curve = network.measured.inside_node(a.key.accelerator, a.gpus_per_node)) {
      inside_nodes_[i].curve = *curve;
    }
    nics_.push_back(nic_of(a, network));
    probed_inside_.push_back(inside_nodes_[i].transfer(probe));
    probed_nics_.push_back(nics_.back().occupancy(probe));
    has_shared_rate_.push_back(static_cast<char>(nics_.back().is_known()));
    for (const Pool& b : cluster.pools) {
      links_.push_back(link_between(a, b, network));
      paths_.push_back(path_between(a, b, network));
      if (paths_.back().is_known()) has_shared_rate_.back() = 1;
      probed_.push_back(links_.back().transfer(probe));
      if (std::ranges::find(distinct_, links_.back()) == distinct_.end()) distinct_.push_back(links_.back());
    }
  }
}

}  // namespace sailor
