#include "simulator/plan_details.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sailor {
namespace {

class TrafficLedger {
 public:
  TrafficLedger(const ClusterState& cluster, const Bill& bill) : cluster_(cluster), bill_(bill) {}

  // Every microbatch's activations go down, their gradients up.
  void add_boundary(std::size_t stage) {
    bill_.each_transfer_after(stage, [&](const Bill::Transfer& transfer) {
      const auto add = [&](int source, int target, DollarsPerByte price) {
        ZoneTraffic& traffic = between(zone_of(source), zone_of(target));
        traffic.activations += transfer.one_way;
        traffic.cost += price * transfer.one_way;
      };
      add(transfer.from, transfer.to, transfer.price);
      add(transfer.to, transfer.from, transfer.price_back);
    });
  }

  void add_gradients(const GroupedStage& stage, const Bill::RingTraffic& ring) {
    std::map<Zone, int> replicas;
    for (const ReplicaGroup& group : stage.groups) replicas[zone_of(group.pool)] += group.count;
    const bool is_split = replicas.size() > 1;
    for (auto zone = replicas.begin(); zone != replicas.end(); ++zone) {
      between(zone->first, zone->first).gradients += ring.of_each_member * (zone->second - (is_split ? 1 : 0));
      if (!is_split) continue;
      const auto next = std::next(zone) == replicas.end() ? replicas.begin() : std::next(zone);
      ZoneTraffic& border = between(zone->first, next->first);
      border.gradients += ring.of_each_member;
      border.cost += ring.border_price * ring.of_each_member;
    }
  }

  void add_peer_replicas() {
    for (const Bill::Transfer& transfer : bill_.peer_replicas()) {
      ZoneTraffic& traffic = between(zone_of(transfer.from), zone_of(transfer.to));
      traffic.gradients += transfer.one_way;
      traffic.cost += transfer.price * transfer.one_way;
    }
  }

  [[nodiscard]] std::vector<ZoneTraffic> entries() const {
    std::vector<ZoneTraffic> all;
    for (const auto& [ends, traffic] : traffic_) {
      if (traffic.bytes() > Bytes(0)) all.push_back(traffic);
    }
    return all;
  }

 private:
  [[nodiscard]] const Zone& zone_of(int pool) const { return cluster_.pools[static_cast<std::size_t>(pool)].key.zone; }
  ZoneTraffic& between(const Zone& from, const Zone& to) {
    return traffic_.try_emplace({from, to}, ZoneTraffic{.from = from, .to = to}).first->second;
  }

  const ClusterState& cluster_;
  const Bill& bill_;
  std::map<std::pair<Zone, Zone>, ZoneTraffic> traffic_;
};

std::vector<ZoneTraffic> traffic_of(const GroupedPlan& plan, const ClusterState& cluster, const Bill& bill) {
  TrafficLedger ledger(cluster, bill);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (i + 1 < plan.stages.size()) ledger.add_boundary(i);
  }
  bill.each_summing_stage([&](const GroupedStage& stage, auto ring) { ledger.add_gradients(stage, ring()); });
  ledger.add_peer_replicas();
  return ledger.entries();
}

std::vector<PoolCharge> charges_of(const ClusterState& cluster, const GroupedPlan& plan, const Bill& bill,
                                   Seconds iteration) {
  std::vector<PoolCharge> charges;
  const std::vector<int> used = gpus_of_pools(plan, cluster.pools.size());
  const std::vector<int> paid = bill.paid_gpus();
  for (std::size_t index = 0; index < used.size(); ++index) {
    if (used[index] == 0) continue;
    const Pool& pool = cluster.pools[index];
    charges.push_back(
        {pool.key, used[index], paid[index], pool.price_per_gpu, pool.price_per_gpu * paid[index] * iteration});
  }
  return charges;
}

// Every replica has one microbatch, and the others are divided as in the plan.
Plan shortened(Plan plan, int microbatches) {
  if (microbatches == plan.microbatches()) return plan;
  const double whole = plan.microbatches();
  for (Stage& stage : plan.stages) {
    int left = microbatches - static_cast<int>(stage.replicas.size());
    double due = 0;
    const int to_divide = left;
    for (Replica& replica : stage.replicas) {
      due += replica.microbatches / whole * to_divide;
      const int given = static_cast<int>(std::lround(due)) - (to_divide - left);
      replica.microbatches = 1 + given;
      left -= given;
    }
  }
  plan.global_batch_size = microbatches * plan.microbatch_size;
  return plan;
}

int microbatches_to_draw(const Plan& plan) {
  constexpr int kPasses = 1 << 15;
  std::size_t replicas = 0;
  for (const Stage& stage : plan.stages) replicas = std::max(replicas, stage.replicas.size());
  return std::max(kPasses / static_cast<int>(plan.stages.size()), 4 * static_cast<int>(replicas));
}

}  // namespace

PlanDetails details_of(const JobSimulation& simulation, const Plan& plan, const GroupedPlan& groups) {
  const bool is_too_long = JobSimulation::is_too_long(groups);
  const int drawn = is_too_long ? microbatches_to_draw(plan) : plan.microbatches();
  const Plan plan_to_draw = shortened(plan, drawn);
  const GroupedPlan groups_to_draw = is_too_long ? grouped(plan_to_draw, simulation.cluster()).value() : groups;
  StepTiming step = simulation.step_timing(plan_to_draw, groups_to_draw);
  SimulationResult result =
      is_too_long ? simulation.simulate_operations(plan, groups) : simulation.result_of(step, plan, groups);
  std::vector<StageSync> syncs;
  syncs.reserve(groups.stages.size());
  for (const GroupedStage& stage : groups.stages) syncs.push_back(simulation.sync_of(groups, stage));
  const Bill bill = simulation.bill_of(groups);
  return {.traffic = traffic_of(groups, simulation.cluster(), bill),
          .charges = charges_of(simulation.cluster(), groups, bill, result.iteration),
          .memory = std::move(result.memory),
          .syncs = std::move(syncs),
          .paper = simulation.compared_with_paper(result.time, groups),
          .step = std::move(step),
          .step_microbatches = drawn};
}

}  // namespace sailor
