// Peer copies: what it costs to keep, in the memory of other nodes, copies of the state that one node alone holds,
// where the job asks for them. trainer/elastic/state/peer_replicas.h is what is estimated here.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/job_tables.h"
#include "simulator/plan_links.h"

namespace sailor {

// Of a parameter that is copied, its gradient is sent to the keeper in each step.
inline constexpr double kFollowedBytes = 4;

// Of one stage.
struct StageCopies {
  double parameters = 0;  // that are copied; 0: every slice is on two nodes anyway, or there is no other node
  double largest = 0;     // of a layer, which one GPU keeps whole
  int holders = 1;        // nodes that send their part of it
  int keepers = 0;        // GPUs of other nodes, over which the copies are spread
  int keeper_pool = 0;    // in another zone of the region, if the plan has one; else as near as can be

  [[nodiscard]] double of_a_keeper() const { return parameters > 0 ? std::max(parameters / keepers, largest) : 0; }
};

class PeerCopies {
 public:
  // Nothing where the job wants no copies. All of them outlive it.
  PeerCopies(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster, const JobTables& tables,
             const PlanLinks& links);

  [[nodiscard]] const std::vector<StageCopies>& stages() const { return stages_; }
  // Parameters whose copies a GPU of the stage keeps at most.
  [[nodiscard]] double kept_by(std::size_t stage) const;
  // Bytes that a stage's holders send in a step, together, and each of them.
  [[nodiscard]] Bytes sent_by(std::size_t stage) const;
  [[nodiscard]] Bytes sent_by_each(std::size_t stage) const;

 private:
  [[nodiscard]] StageCopies copies_of(const GroupedStage& stage) const;
  [[nodiscard]] int keeper_pool_for(int holder) const;

  const GroupedPlan& plan_;
  const ClusterState& cluster_;
  const JobTables& tables_;
  const PlanLinks& links_;
  std::vector<StageCopies> stages_;
};

}  // namespace sailor
