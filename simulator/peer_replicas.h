// Peer copies: what it costs to keep, in the memory of other nodes, copies of the state that one node alone holds,
// where the job asks for them. trainer/elastic/state/peer_replicas.h is what is estimated here.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/job_tables.h"
#include "simulator/memory.h"
#include "simulator/plan_links.h"

namespace sailor {

// Of one stage.
struct StagePeerReplicas {
  double parameters = 0;   // that are copied; 0: every slice is on two nodes anyway, or there is no other node
  double largest = 0;      // of a layer, which one GPU keeps whole
  int senders = 1;         // nodes that send their part of it
  int backup_holders = 0;  // GPUs of other nodes, over which the copies are spread
  int backup_pool = 0;     // in another zone of the region, if the plan has one; else as near as can be

  [[nodiscard]] double per_backup_holder() const {
    return parameters > 0 ? std::max(parameters / backup_holders, largest) : 0;
  }
};

class PeerReplicas {
 public:
  // Nothing where the job wants no copies. All of them outlive it.
  PeerReplicas(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster, const JobTables& tables,
               const PlanLinks& links);

  [[nodiscard]] const std::vector<StagePeerReplicas>& stages() const { return stages_; }
  // Parameters whose copies a GPU of the stage keeps at most.
  [[nodiscard]] double held_for_peers(std::size_t stage) const;
  // Bytes that a stage's holders send in a step, together, and each of them.
  [[nodiscard]] Bytes sent_by(std::size_t stage) const;
  [[nodiscard]] Bytes sent_by_each(std::size_t stage) const;

 private:
  [[nodiscard]] StagePeerReplicas peer_replicas_of(const GroupedStage& stage) const;
  [[nodiscard]] int backup_pool_for(int holder) const;

  const GroupedPlan& plan_;
  const ClusterState& cluster_;
  const JobTables& tables_;
  const PlanLinks& links_;
  std::vector<StagePeerReplicas> stages_;
};

}  // namespace sailor
