// PlanView: what the pictures of one plan are drawn from, and its replicas in groups that are alike.
#pragma once

#include <string>
#include <vector>

#include "core/model/estimate.h"
#include "simulator/plan_details.h"

namespace sailor::report {

// What it refers to outlives it.
struct PlanView {
  const JobSpec& job;
  const ClusterState& cluster;
  const Plan& plan;
  const Estimate& estimate;
  const PlanDetails& details;
};

// Replicas of a stage that have the same pool and degree, and the same share of the microbatches but for one.
struct AlikeReplicas {
  std::size_t stage = 0;
  std::vector<std::size_t> replicas;  // indices, ascending, never empty
};

std::vector<AlikeReplicas> alike_replicas(const Plan& plan, std::size_t stage);

// "12 replicas of 2 nvidia-l4 in us-central1-a, spot, with 20 to 21 microbatches each".
std::string alike_text(const Plan& plan, const AlikeReplicas& group);
std::string pool_text(const PoolKey& pool);   // "nvidia-l4 in us-central1-a, spot"
std::string layers_text(const Stage& stage);  // "3-12", inclusive
std::string microbatches_text(long count);    // "1 microbatch", "1,024 microbatches"

}  // namespace sailor::report
