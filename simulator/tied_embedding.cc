#include "simulator/tied_embedding.h"

namespace sailor {

std::optional<GroupedStage> holders_of_tied_embedding(const GroupedPlan& plan, const ModelSpec& model) {
  if (!model.tied_embeddings || plan.stages.size() < 2) return std::nullopt;
  GroupedStage holders = plan.stages.front();
  holders.layers.last = plan.stages.back().layers.last;
  for (const ReplicaGroup& group : plan.stages.back().groups) holders.add(group);
  return holders;
}

}  // namespace sailor
