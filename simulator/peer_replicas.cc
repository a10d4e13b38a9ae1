#include "simulator/peer_replicas.h"

#include <tuple>

namespace sailor {

PeerCopies::PeerCopies(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster,
                       const JobTables& tables, const PlanLinks& links)
    : plan_(plan), cluster_(cluster), tables_(tables), links_(links), stages_(plan.stages.size()) {
  if (job.redundancy == Redundancy::kNone) return;
  for (std::size_t i = 0; i < stages_.size(); ++i) stages_[i] = copies_of(plan.stages[i]);
}

// A stage of several replicas has its state on several nodes, unless they share the optimizer's or fit on one node.
StageCopies PeerCopies::copies_of(const GroupedStage& stage) const {
  const ReplicaGroup& group = stage.groups.front();
  const bool is_in_one_node = links_.is_inside_node(group.pool, group.pool);
  const bool is_on_two_nodes = stage.groups.size() > 1 || (stage.replicas() > 1 && !is_in_one_node);
  if (is_on_two_nodes && !plan_.sharded_optimizer) return {};
  const int with_the_holder = is_in_one_node
                                  ? gpus_of_pools(plan_, cluster_.pools.size())[static_cast<std::size_t>(group.pool)]
                                  : group.tensor_parallel;
  StageCopies copies{.keepers = plan_.gpus() - with_the_holder, .keeper_pool = keeper_pool_for(group.pool)};
  if (copies.keepers <= 0) return {};
  const LayerCosts& layers =
      tables_.costs(group.pool, {plan_.microbatch_size, group.tensor_parallel}, plan_.activation_checkpointing);
  const double of_a_layer = group.tensor_parallel;  // a shard's parameters times this
  copies.parameters = layers.range(stage.first_layer, stage.last_layer).parameters * of_a_layer;
  copies.holders = plan_.sharded_optimizer ? stage.replicas() : 1;
  const double pieces_of_a_layer = static_cast<double>(group.tensor_parallel) * copies.holders;
  for (int layer = stage.first_layer; layer < stage.last_layer; ++layer) {
    copies.largest =
        std::max(copies.largest, layers.range(layer, layer + 1).parameters * of_a_layer / pieces_of_a_layer);
  }
  return copies;
}

int PeerCopies::keeper_pool_for(int holder) const {
  const Zone& home = cluster_.pools[static_cast<std::size_t>(holder)].key.zone;
  int best = holder;
  std::tuple<int, int> best_wish{3, 0};
  for (const GroupedStage& stage : plan_.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      if (group.pool == holder && links_.is_inside_node(holder, holder)) continue;
      const Zone& zone = cluster_.pools[static_cast<std::size_t>(group.pool)].key.zone;
      const int wish = region_of(zone) != region_of(home) ? 2 : zone == home ? 1 : 0;
      if (std::tuple(wish, group.pool) < best_wish) {
        best_wish = {wish, group.pool};
        best = group.pool;
      }
    }
  }
  return best;
}

double PeerCopies::kept_by(std::size_t stage) const {
  double kept = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const int pool = plan_.stages[i].groups.front().pool;
    const bool keeps_its_own = stages_[i].holders > 1 && !links_.is_inside_node(pool, pool);  // of other replicas
    if (i != stage || keeps_its_own) kept += stages_[i].of_a_keeper();
  }
  return kept;
}

Bytes PeerCopies::sent_by(std::size_t stage) const { return Bytes(stages_[stage].parameters * kFollowedBytes); }

Bytes PeerCopies::sent_by_each(std::size_t stage) const { return sent_by(stage) / stages_[stage].holders; }

}  // namespace sailor
