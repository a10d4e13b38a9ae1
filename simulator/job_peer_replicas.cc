// Computes what peer replicas of the state add to a step and to the memory of GPUs.
#include <algorithm>

#include <fmt/format.h>

#include "simulator/job_simulation.h"
#include "simulator/peer_replicas.h"

namespace sailor {

// When a stage's gradients are complete, the stage sends them to the backup holders, which update their peer replicas
// too.
void JobSimulation::add_peer_replicas(const GroupedPlan& plan, const PlanLinks& links,
                                      std::vector<StageEnd>& ends) const {
  const PeerReplicas replicas(plan, cluster_, tables_, links);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const ReplicaGroup& group = plan.stages[i].groups.front();
    const int shards = plan.techniques.shards_optimizer ? plan.stages[i].replicas() : 1;
    const double own = range_needs(plan, plan.stages[i], group).parameters / shards;
    if (own > 0) ends[i].update = ends[i].update * (1 + replicas.held_for_peers(i) / own);
    const Bytes sent = replicas.sent_by_each(i);
    if (sent > Bytes(0)) ends[i].gather += transfer(sent, group.pool, replicas.stages()[i].backup_pool);
  }
}

// Returns, for each stage, the number of parameters of which a GPU holds peer replicas.
std::vector<double> JobSimulation::peer_parameters(const GroupedPlan& plan) const {
  std::vector<double> parameters(plan.stages.size());
  if (!plan.techniques.keeps_peer_replicas) return parameters;
  const PlanLinks links(plan, cluster_, links_);
  const PeerReplicas replicas(plan, cluster_, tables_, links);
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = replicas.held_for_peers(i);
  return parameters;
}

std::optional<std::string> JobSimulation::note_of_peer_replicas(const GroupedPlan& plan) const {
  if (!plan.techniques.keeps_peer_replicas) return std::nullopt;
  const std::vector<double> parameters = peer_parameters(plan);
  const double most = *std::ranges::max_element(parameters);
  if (most == 0) return "no peer replicas are kept: every slice is on two nodes anyway, or the plan uses one node only";
  Bytes sent(0);
  for (const Bill::Transfer& transfer : bill_of(plan).peer_replicas()) sent += transfer.one_way;
  return fmt::format(
      "peer replicas of the state that only one node holds take up to {:.1f} GiB of a GPU's memory on other "
      "nodes, and {:.2f} GB of traffic per step",
      most * (kPeerReplicaStateBytes + kPeerReplicaGradientBytes) / gibibytes(1).value(), sent.value() / 1e9);
}

}  // namespace sailor
