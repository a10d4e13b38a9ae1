// Estimates what failures of nodes cost a job that follows a plan (core/model/estimate.h).
#pragma once

#include "core/model/estimate.h"
#include "simulator/plan_links.h"

namespace sailor {

// `iteration` is the time of a step. Failures are independent, and each pool has its mean lifetime of a node. A failure
// repeats half a step and pauses training. If the lost node alone held some state, it also repeats the steps since the
// newest checkpoint: half an interval between checkpoints, or half the job if it has no checkpoints.
ExpectedLoss expected_loss(const GroupedPlan& plan, Seconds iteration, const JobSpec& job, const ClusterState& cluster,
                           const PlanLinks& links);

}  // namespace sailor
