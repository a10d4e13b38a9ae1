#include "simulator/bill.h"

#include <algorithm>
#include <utility>

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

// A node whose GPUs belong to pools of several grades is paid for once, by the pool of the lowest grade that uses it.
int Bill::nodes_paid_by(std::size_t pool, std::span<const PackedGroups> packed) const {
  const PackedGroups& used = packed[pool];
  int nodes = used.nodes_used;
  const std::span<const SharedNodes::Group> shared = links_.shared_nodes().of_pool(pool);
  if (shared.empty()) return nodes;
  std::vector<int> paid_already(used.nodes_of_group.size());
  for (const SharedNodes::Group& one : shared) {
    const std::vector<int>& below = packed[one.lower_pool].nodes_of_group;
    if (!below.empty()) paid_already[one.group] = std::max(paid_already[one.group], below[one.same_in_lower]);
  }
  for (std::size_t i = 0; i < paid_already.size(); ++i) nodes -= std::min(paid_already[i], used.nodes_of_group[i]);
  return nodes;
}

std::vector<int> Bill::paid_gpus() const {
  std::vector<int> paid = gpus_of_pools(plan_, cluster_.pools.size());
  std::vector<PackedGroups> packed(paid.size());  // without nodes if the plan does not use the pool
  for (std::size_t pool = 0; pool < paid.size(); ++pool) {
    const Pool& of = cluster_.pools[pool];
    if (!of.whole_nodes || paid[pool] == 0) continue;
    packed[pool] = pack_groups(of, groups_of_pool(plan_.stages, static_cast<int>(pool)));
    const int of_nodes = nodes_paid_by(pool, packed) * of.gpus_per_node;
    paid[pool] = of.key.grade == 0 ? std::max(paid[pool], of_nodes) : of_nodes;
  }
  return paid;
}

DollarsPerHour Bill::gpus() const {
  const std::vector<int> paid = paid_gpus();
  DollarsPerHour sum(0);
  for (std::size_t pool = 0; pool < paid.size(); ++pool) sum += cluster_.pools[pool].price_per_gpu * paid[pool];
  return sum;
}

}  // namespace sailor
