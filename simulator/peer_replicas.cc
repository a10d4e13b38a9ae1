#include "simulator/peer_replicas.h"

#include <algorithm>
#include <tuple>

namespace sailor {

// The state of a stage with several replicas is on several nodes, unless the replicas share the optimizer's state or
// all fit on one node.
bool is_on_two_nodes(const GroupedPlan& plan, const GroupedStage& stage, const PlanLinks& links) {
  if (plan.techniques.shards_optimizer) return false;
  const int pool = stage.groups.front().pool;
  return stage.replicas() > 1 && !std::ranges::all_of(stage.groups, [&](const ReplicaGroup& group) {
           return links.is_inside_node(pool, group.pool);
         });
}

PeerReplicas::PeerReplicas(const GroupedPlan& plan, const ClusterState& cluster, const JobTables& tables,
                           const PlanLinks& links)
    : plan_(plan), cluster_(cluster), tables_(tables), links_(links), stages_(plan.stages.size()) {
  if (!plan.techniques.keeps_peer_replicas) return;
  for (std::size_t i = 0; i < stages_.size(); ++i) stages_[i] = peer_replicas_of(plan.stages[i]);
}

StagePeerReplicas PeerReplicas::peer_replicas_of(const GroupedStage& stage) const {
  if (is_on_two_nodes(plan_, stage, links_)) return {};
  const ReplicaGroup& group = stage.groups.front();
  StagePeerReplicas replicas{.backup_holders = plan_.gpus() - gpus_beside(group),
                             .backup_pool = backup_pool_for(group.pool)};
  if (replicas.backup_holders <= 0) return {};
  const LayerNeeds& layers =
      tables_.needs(group.pool, {plan_.microbatch_size, group.tensor_parallel}, plan_.techniques.recomputes);
  const double of_a_layer = group.tensor_parallel;  // times the parameters of a shard
  replicas.parameters = layers.range(stage.layers).parameters * of_a_layer;
  replicas.senders = plan_.techniques.shards_optimizer ? stage.replicas() : 1;
  const double shards_of_a_layer = static_cast<double>(group.tensor_parallel) * replicas.senders;
  for (int layer = stage.layers.first; layer < stage.layers.last; ++layer) {
    replicas.largest =
        std::max(replicas.largest, layers.range({layer, layer + 1}).parameters * of_a_layer / shards_of_a_layer);
  }
  return replicas;
}

// Returns how many GPUs of the plan are on the node of a replica of the group.
int PeerReplicas::gpus_beside(const ReplicaGroup& group) const {
  if (!links_.is_inside_node(group.pool, group.pool)) return group.tensor_parallel;
  const std::vector<int> used = gpus_of_pools(plan_, cluster_.pools.size());
  int gpus = 0;
  for (int pool = 0; pool < std::ssize(used); ++pool) {
    if (links_.is_inside_node(group.pool, pool)) gpus += used[static_cast<std::size_t>(pool)];
  }
  return gpus;
}

int PeerReplicas::backup_pool_for(int holder) const {
  const Pool& home = cluster_.pools[static_cast<std::size_t>(holder)];
  int best = holder;
  std::tuple<int, int> best_wish{3, 0};
  for (const GroupedStage& stage : plan_.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      if (links_.is_inside_node(holder, group.pool)) continue;
      const Pool& pool = cluster_.pools[static_cast<std::size_t>(group.pool)];
      const int wish = pool.region != home.region ? 2 : pool.key.zone == home.key.zone ? 1 : 0;
      if (std::tuple(wish, group.pool) < best_wish) {
        best_wish = {wish, group.pool};
        best = group.pool;
      }
    }
  }
  return best;
}

double PeerReplicas::held_for_peers(std::size_t stage) const {
  double kept = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const int pool = plan_.stages[i].groups.front().pool;
    // A GPU may hold peer replicas of its own stage: those of the stage's other replicas.
    const bool keeps_its_own = stages_[i].senders > 1 && !links_.is_inside_node(pool, pool);
    if (i != stage || keeps_its_own) kept += stages_[i].per_backup_holder();
  }
  return kept;
}

Bytes PeerReplicas::sent_by(std::size_t stage) const {
  return Bytes(stages_[stage].parameters * kPeerReplicaGradientBytes);
}

Bytes PeerReplicas::sent_by_each(std::size_t stage) const { return sent_by(stage) / stages_[stage].senders; }

}  // namespace sailor
