#include "simulator/plan_details.h"

#include <algorithm>
#include <map>

#include "planner/model/node_packing.h"
#include "simulator/analytic_profile.h"

namespace sailor {
namespace {

class TrafficLedger {
 public:
  TrafficLedger(const JobSimulation& simulation, const GroupedPlan& plan) : simulation_(simulation), plan_(plan) {}

  // Every microbatch's activations go down, their gradients up; both at the price of the way down.
  void add_boundary(std::size_t stage) {
    const GroupedStage& above = plan_.stages[stage];
    const GroupedStage& below = plan_.stages[stage + 1];
    const Bytes one_way = costs_of(above).output(above.last_layer - 1) * plan_.microbatches;
    for (const ReplicaGroup& from : above.groups) {
      for (const ReplicaGroup& to : below.groups) {
        const Bytes bytes = one_way * (share_of(from) * share_of(to));
        const DollarsPerByte price = simulation_.links().between(from.pool, to.pool).price;
        for (const auto& [source, target] : {std::pair(from.pool, to.pool), std::pair(to.pool, from.pool)}) {
          ZoneTraffic& traffic = between(zone_of(source), zone_of(target));
          traffic.activations += bytes;
          traffic.cost += price * bytes;
        }
      }
    }
  }

  // The replicas of a stage as a ring, zone after zone: over n > 1 zones it crosses n borders, at the highest price.
  void add_gradients(const GroupedStage& stage) {
    const int members = stage.replicas();
    if (members < 2) return;
    const Bytes each = gradient_bytes(stage) * (2.0 * (members - 1) / members);
    std::map<Zone, int> replicas;
    for (const ReplicaGroup& group : stage.groups) replicas[zone_of(group.pool)] += group.count;
    const bool is_split = replicas.size() > 1;
    for (auto zone = replicas.begin(); zone != replicas.end(); ++zone) {
      between(zone->first, zone->first).gradients += each * (zone->second - (is_split ? 1 : 0));
      if (!is_split) continue;
      const auto next = std::next(zone) == replicas.end() ? replicas.begin() : std::next(zone);
      ZoneTraffic& border = between(zone->first, next->first);
      border.gradients += each;
      border.cost += highest_price(stage) * each;
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
  [[nodiscard]] const LayerCosts& costs_of(const GroupedStage& stage) const {
    const ReplicaGroup& first = stage.groups.front();
    return simulation_.tables().costs(first.pool, {plan_.microbatch_size, first.tensor_parallel},
                                      plan_.activation_checkpointing);
  }
  [[nodiscard]] double share_of(const ReplicaGroup& group) const {
    return static_cast<double>(group.count) * group.microbatches / plan_.microbatches;
  }
  [[nodiscard]] Bytes gradient_bytes(const GroupedStage& stage) const {
    const double parameters =
        costs_of(stage).range(stage.first_layer, stage.last_layer).parameters * stage.groups.front().tensor_parallel;
    return Bytes(parameters * element_size(simulation_.job().training.precision));
  }
  [[nodiscard]] DollarsPerByte highest_price(const GroupedStage& stage) const {
    DollarsPerByte price(0);
    for (const ReplicaGroup& a : stage.groups) {
      for (const ReplicaGroup& b : stage.groups) {
        price = std::max(price, simulation_.links().between(a.pool, b.pool).price);
      }
    }
    return price;
  }
  [[nodiscard]] const Zone& zone_of(int pool) const {
    return simulation_.cluster().pools[static_cast<std::size_t>(pool)].key.zone;
  }
  ZoneTraffic& between(const Zone& from, const Zone& to) {
    return traffic_.try_emplace({from, to}, ZoneTraffic{.from = from, .to = to}).first->second;
  }

  const JobSimulation& simulation_;
  const GroupedPlan& plan_;
  std::map<std::pair<Zone, Zone>, ZoneTraffic> traffic_;
};

std::vector<ZoneTraffic> traffic_of(const JobSimulation& simulation, const GroupedPlan& plan) {
  TrafficLedger ledger(simulation, plan);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (i + 1 < plan.stages.size()) ledger.add_boundary(i);
    ledger.add_gradients(plan.stages[i]);
  }
  return ledger.entries();
}

int paid_gpus(const GroupedPlan& plan, const Pool& pool, int index, int used) {
  if (!pool.whole_nodes) return used;
  std::vector<GroupsOfSize> groups;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      if (group.pool == index) groups.push_back({group.tensor_parallel, group.count});
    }
  }
  return std::max(used, pack_groups(pool, groups).nodes_used * pool.gpus_per_node);
}

std::vector<PoolCharge> charges_of(const ClusterState& cluster, const GroupedPlan& plan, Seconds iteration) {
  std::vector<PoolCharge> charges;
  const std::vector<int> used = gpus_of_pools(plan, cluster.pools.size());
  for (std::size_t index = 0; index < used.size(); ++index) {
    if (used[index] == 0) continue;
    const Pool& pool = cluster.pools[index];
    const int paid = paid_gpus(plan, pool, static_cast<int>(index), used[index]);
    charges.push_back({pool.key, used[index], paid, pool.price_per_gpu, pool.price_per_gpu * paid * iteration});
  }
  return charges;
}

}  // namespace

PlanDetails details_of(const JobSimulation& simulation, const Plan& plan, const GroupedPlan& groups) {
  StepTiming step = simulation.play(plan, groups);
  Outcome outcome = simulation.outcome_of(step, plan, groups);
  std::vector<StageSync> syncs;
  for (const GroupedStage& stage : groups.stages) syncs.push_back(simulation.sync_of(groups, stage));
  return {.traffic = traffic_of(simulation, groups),
          .charges = charges_of(simulation.cluster(), groups, outcome.iteration),
          .memory = std::move(outcome.memory),
          .syncs = std::move(syncs),
          .step = std::move(step)};
}

}  // namespace sailor
