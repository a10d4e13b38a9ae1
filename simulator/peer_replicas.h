// Peer replicas: what it costs to keep replicas, in the memory of other nodes, of the state that only one node holds,
// if the job asks for them. It estimates what trainer/elastic/state does.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/job_tables.h"
#include "simulator/memory.h"
#include "simulator/plan_links.h"

namespace sailor {

// The peer replicas of one stage's state.
struct StagePeerReplicas {
  // The parameters that have a peer replica. 0: every slice is on two nodes anyway, or the plan uses no other node.
  double parameters = 0;
  double largest = 0;      // parameters of a layer, which one GPU holds as a whole
  int senders = 1;         // nodes that send their part of the state
  int backup_holders = 0;  // GPUs of other nodes, over which the peer replicas are spread
  int backup_pool = 0;     // a pool in another zone of the region if the plan uses one, else the nearest

  [[nodiscard]] double per_backup_holder() const {
    return parameters > 0 ? std::max(parameters / backup_holders, largest) : 0;
  }
};

// Whether every part of the stage's state is on two nodes or more, without peer replicas.
bool is_on_two_nodes(const GroupedPlan& plan, const GroupedStage& stage, const PlanLinks& links);

class PeerReplicas {
 public:
  // Empty if the plan keeps no peer replicas. All arguments must outlive it.
  PeerReplicas(const GroupedPlan& plan, const ClusterState& cluster, const JobTables& tables, const PlanLinks& links);

  [[nodiscard]] const std::vector<StagePeerReplicas>& stages() const { return stages_; }
  // The most parameters of other stages or replicas that a GPU of this stage holds.
  [[nodiscard]] double held_for_peers(std::size_t stage) const;
  // Returns the bytes that the stage sends to backup holders in a step: all senders together, and each of them.
  [[nodiscard]] Bytes sent_by(std::size_t stage) const;
  [[nodiscard]] Bytes sent_by_each(std::size_t stage) const;

 private:
  [[nodiscard]] StagePeerReplicas peer_replicas_of(const GroupedStage& stage) const;
  [[nodiscard]] int gpus_beside(const ReplicaGroup& group) const;
  [[nodiscard]] int backup_pool_for(int holder) const;

  const GroupedPlan& plan_;
  const ClusterState& cluster_;
  const JobTables& tables_;
  const PlanLinks& links_;
  std::vector<StagePeerReplicas> stages_;
};

}  // namespace sailor
