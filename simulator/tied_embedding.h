// The first and the last stage of a plan both hold a tied embedding. The trainer sums its gradients over all of their
// replicas together, after the passes of the first stage.
#pragma once

#include <optional>

#include "core/model/model_spec.h"
#include "planner/problem/grouped_plan.h"

namespace sailor {

// Returns the two stages as one. Returns nothing if the model ties no embedding, or if one stage has all layers.
std::optional<GroupedStage> holders_of_tied_embedding(const GroupedPlan& plan, const ModelSpec& model);

}  // namespace sailor
