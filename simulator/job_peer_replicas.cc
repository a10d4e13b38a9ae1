// What copies in peers' memory add to a step and to the memory of its GPUs.
#include <algorithm>

#include <fmt/format.h>

#include "simulator/job_simulation.h"
#include "simulator/peer_replicas.h"

namespace sailor {

// Once a stage's gradients are complete, they are sent to those who keep copies; these update what they keep as well.
void JobSimulation::add_copies(const GroupedPlan& plan, const PlanLinks& links, std::vector<StageEnd>& ends) const {
  const PeerCopies copies(plan, job_, cluster_, tables_, links);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const ReplicaGroup& group = plan.stages[i].groups.front();
    const int shards = plan.sharded_optimizer ? plan.stages[i].replicas() : 1;
    const double own = range_cost(plan, plan.stages[i], group).parameters / shards;
    if (own > 0) ends[i].update = ends[i].update * (1 + copies.kept_by(i) / own);
    const Bytes sent = copies.sent_by_each(i);
    if (sent > Bytes(0)) ends[i].gather += transfer(sent, group.pool, copies.stages()[i].keeper_pool);
  }
}

// Of which a GPU of each stage keeps copies.
std::vector<double> JobSimulation::copied_parameters(const GroupedPlan& plan) const {
  std::vector<double> copied(plan.stages.size());
  if (job_.redundancy == Redundancy::kNone) return copied;
  const PlanLinks links(plan, cluster_, links_);
  const PeerCopies copies(plan, job_, cluster_, tables_, links);
  for (std::size_t i = 0; i < copied.size(); ++i) copied[i] = copies.kept_by(i);
  return copied;
}

std::optional<std::string> JobSimulation::note_of_copies(const GroupedPlan& plan) const {
  if (job_.redundancy == Redundancy::kNone) return std::nullopt;
  const std::vector<double> copied = copied_parameters(plan);
  const double most = *std::ranges::max_element(copied);
  if (most == 0) return "no copies of the state are needed in peers' memory, or there is no other node to keep them";
  Bytes sent(0);
  for (const Bill::Way& way : bill_of(plan).copies()) sent += way.one_way;
  return fmt::format(
      "copies of the state that one node alone holds take up to {:.1f} GiB of a GPU's memory in other "
      "nodes, and {:.2f} GB of traffic a step",
      most * (kCopiedState + kCopiedGradient) / gibibytes(1).value(), sent.value() / 1e9);
}

}  // namespace sailor
