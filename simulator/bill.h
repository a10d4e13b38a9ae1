// Bill: the items that a plan pays for: GPUs by the hour and traffic by the gigabyte. The simulator uses the sums;
// reports show the items.
#pragma once

#include <span>
#include <vector>

#include "core/model/node_packing.h"
#include "planner/problem/grouped_plan.h"
#include "simulator/job_tables.h"
#include "simulator/pool_links.h"
#include "simulator/tied_embedding.h"

namespace sailor {

class Bill {
 public:
  // What holds for all plans of a job.
  struct Tables {
    const JobTables& needs;
    const PoolLinks& links;
  };

  // All arguments, and what the tables refer to, must outlive the bill.
  Bill(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster, const Tables& tables)
      : plan_(plan), job_(job), cluster_(cluster), tables_(tables.needs), links_(tables.links) {}

  // The number of GPUs of each pool that are paid for: those that the plan uses, or all GPUs of their nodes if the pool
  // is paid for by whole nodes. Nodes that a pool of a lower speed grade pays for are left out.
  [[nodiscard]] std::vector<int> paid_gpus() const;
  [[nodiscard]] DollarsPerHour gpus() const;
  // The price of all traffic of an iteration.
  [[nodiscard]] Dollars traffic() const;

  // The bytes that the replicas of a group send to those of a group of the next stage in an iteration. The same amount
  // returns, at the price of the other direction.
  struct Transfer {
    int from = 0;  // pool
    int to = 0;
    Bytes one_way;
    DollarsPerByte price;
    DollarsPerByte price_back;
  };
  template <class Visit>
  void each_transfer_after(std::size_t stage, Visit visit) const {
    const GroupedStage& above = plan_.stages[stage];
    const Bytes one_way = layer_needs_of(above).output(above.layers.last - 1) * plan_.microbatches;
    for (const ReplicaGroup& from : above.groups) {
      for (const ReplicaGroup& to : plan_.stages[stage + 1].groups) {
        visit(Transfer{from.pool, to.pool, one_way * (share_of(from) * share_of(to)),
                       links_.between(from.pool, to.pool).price, links_.between(to.pool, from.pool).price});
      }
    }
  }

  // Returns the traffic of an iteration to the holders of peer replicas. It goes one way only.
  [[nodiscard]] std::vector<Transfer> peer_replicas() const;

  // The replicas of a stage sum their gradients in a ring that goes from zone to zone. Over n > 1 zones, the ring
  // crosses n borders.
  struct RingTraffic {
    Bytes of_each_member;         // sent to the next member in an iteration
    DollarsPerByte border_price;  // the highest price between two of its pools
  };
  // Calls visit(stage, a function that returns its RingTraffic) for every stage with several replicas, and for the
  // stages that sum a tied embedding together.
  template <class Visit>
  void each_summing_stage(Visit visit) const {
    for (const GroupedStage& stage : plan_.stages) {
      if (stage.replicas() > 1) visit(stage, [&] { return ring_of(stage, summed_parameters(stage)); });
    }
    if (const auto holders = holders_of_tied_embedding(plan_, job_.model)) {
      visit(*holders, [&] { return ring_of(*holders, tied_parameters(*holders)); });
    }
  }

 private:
  [[nodiscard]] int nodes_paid_by(std::size_t pool, std::span<const PackedGroups> packed) const;
  // `parameters` are those of all GPUs of a replica.
  [[nodiscard]] RingTraffic ring_of(const GroupedStage& stage, double parameters) const;
  [[nodiscard]] double summed_parameters(const GroupedStage& stage) const;
  [[nodiscard]] double tied_parameters(const GroupedStage& holders) const;
  [[nodiscard]] const LayerNeeds& layer_needs_of(const GroupedStage& stage) const;
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
