#include "simulator/bill.h"

#include <algorithm>
#include <utility>

#include "core/model/node_packing.h"
#include "simulator/memory.h"
#include "simulator/peer_replicas.h"

namespace sailor {

const LayerNeeds& Bill::layer_needs_of(const GroupedStage& stage) const {
  const ReplicaGroup& first = stage.groups.front();
  return tables_.needs(first.pool, {plan_.microbatch_size, first.tensor_parallel}, plan_.techniques.recomputes);
}

double Bill::summed_parameters(const GroupedStage& stage) const {
  return layer_needs_of(stage).summed_parameters(stage.layers) * stage.groups.front().tensor_parallel;
}

double Bill::tied_parameters(const GroupedStage& holders) const {
  return layer_needs_of(holders).tied_parameters() * holders.groups.front().tensor_parallel;
}

Bill::RingTraffic Bill::ring_of(const GroupedStage& stage, double parameters) const {
  const int members = stage.replicas();
  const SyncedBytes synced = synced_bytes(job_.training.precision, plan_.techniques.shards_optimizer);
  RingTraffic ring{
      Bytes(parameters * (synced.reduced + synced.gathered)) * (static_cast<double>(members - 1) / members),
      DollarsPerByte(0)};
  for (const ReplicaGroup& a : stage.groups) {
    for (const ReplicaGroup& b : stage.groups) {
      ring.border_price = std::max(ring.border_price, links_.between(a.pool, b.pool).price);
    }
  }
  return ring;
}

Dollars Bill::traffic() const {
  Dollars sum(0);
  for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
    if (i + 1 < plan_.stages.size()) {
      each_transfer_after(
          i, [&](const Transfer& transfer) { sum += (transfer.price + transfer.price_back) * transfer.one_way; });
    }
  }
  each_summing_stage([&](const GroupedStage& stage, auto ring_of_stage) {
    const int zones = zones_of(stage, cluster_);
    if (zones < 2) return;
    const RingTraffic ring = ring_of_stage();
    sum += ring.border_price * ring.of_each_member * zones;
  });
  for (const Transfer& transfer : peer_replicas()) sum += transfer.price * transfer.one_way;
  return sum;
}

std::vector<Bill::Transfer> Bill::peer_replicas() const {
  if (!plan_.techniques.keeps_peer_replicas) return {};
  const PlanLinks links(plan_, cluster_, links_);
  const PeerReplicas replicas(plan_, cluster_, tables_, links);
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
    const int holder = plan_.stages[i].groups.front().pool;
    const int backup_pool = replicas.stages()[i].backup_pool;
    if (replicas.sent_by(i) > Bytes(0)) {
      transfers.push_back({holder, backup_pool, replicas.sent_by(i), links_.between(holder, backup_pool).price, {}});
    }
  }
  return transfers;
}

int Bill::paid_gpus(std::size_t pool, int used) const {
  const Pool& of = cluster_.pools[pool];
  if (!of.whole_nodes || used == 0) return used;
  std::vector<GroupsOfSize> groups;
  for (const GroupedStage& stage : plan_.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      if (std::cmp_equal(group.pool, pool)) groups.push_back({group.tensor_parallel, group.count});
    }
  }
  return std::max(used, pack_groups(of, groups).nodes_used * of.gpus_per_node);
}

DollarsPerHour Bill::gpus() const {
  const std::vector<int> used = gpus_of_pools(plan_, cluster_.pools.size());
  DollarsPerHour sum(0);
  for (std::size_t pool = 0; pool < used.size(); ++pool) {
    sum += cluster_.pools[pool].price_per_gpu * paid_gpus(pool, used[pool]);
  }
  return sum;
}

}  // namespace sailor
