// Bill: what a plan pays for: GPUs by the hour, traffic by the gigabyte. Reports itemise what the simulator sums up.
#pragma once

#include "planner/problem/grouped_plan.h"
#include "simulator/job_tables.h"
#include "simulator/pool_links.h"

namespace sailor {

class Bill {
 public:
  // All of them outlive it.
  Bill(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster, const JobTables& tables,
       const PoolLinks& links)
      : plan_(plan), job_(job), cluster_(cluster), tables_(tables), links_(links) {}

  // More than the plan uses of a pool where whole nodes are paid for.
  [[nodiscard]] int paid_gpus(std::size_t pool, int used) const;
  [[nodiscard]] DollarsPerHour gpus() const;
  // Of an iteration.
  [[nodiscard]] Dollars traffic() const;

  // What goes down from a group of a stage to one of the next in an iteration; as much comes back up, at this price.
  struct Transfer {
    int from = 0;  // pools
    int to = 0;
    Bytes one_way;
    DollarsPerByte price;
  };
  template <class Visit>
  void each_transfer_after(std::size_t stage, Visit visit) const {
    const GroupedStage& above = plan_.stages[stage];
    const Bytes one_way = costs_of(above).output(above.layers.last - 1) * plan_.microbatches;
    for (const ReplicaGroup& from : above.groups) {
      for (const ReplicaGroup& to : plan_.stages[stage + 1].groups) {
        visit(Transfer{from.pool, to.pool, one_way * (share_of(from) * share_of(to)),
                       links_.between(from.pool, to.pool).price});
      }
    }
  }

  // What goes to peers that keep copies of the state, one way, in an iteration.
  [[nodiscard]] std::vector<Transfer> copies() const;

  // The replicas of a stage as a ring, zone after zone: over n > 1 zones it crosses n borders.
  struct RingTraffic {
    Bytes of_each_member;         // what it sends to the next one in an iteration
    DollarsPerByte border_price;  // the highest between two of its pools
  };
  [[nodiscard]] RingTraffic ring_of(const GroupedStage& stage) const;

 private:
  [[nodiscard]] const LayerCosts& costs_of(const GroupedStage& stage) const;
  [[nodiscard]] std::size_t zones_of(const GroupedStage& stage) const;
  [[nodiscard]] double share_of(const ReplicaGroup& group) const {
    return static_cast<double>(group.count) * group.microbatches / plan_.microbatches;
  }

  const GroupedPlan& plan_;
  const JobSpec& job_;
  const ClusterState& cluster_;
  const JobTables& tables_;
  const PoolLinks& links_;
};

}  // namespace sailor
