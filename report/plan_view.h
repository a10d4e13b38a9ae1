// PlanView: the data from which a plan is drawn, and its replicas in groups of similar ones.
#pragma once

#include <string>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/execution_model.h"
#include "simulator/plan_details.h"

namespace sailor::report {

// The referenced objects must outlive the view.
struct PlanView {
  const JobSpec& job;
  const ClusterState& cluster;
  const Plan& plan;
  const Estimate& estimate;
  const PlanDetails& details;
  const EstimateBasis& basis;
};

// Replicas of a stage with the same pool and tensor_parallel, whose numbers of microbatches differ by at most one from
// the first one's.
struct SimilarReplicas {
  std::size_t stage = 0;
  std::vector<std::size_t> replicas;  // indices, ascending, never empty
};

std::vector<SimilarReplicas> similar_replicas(const Plan& plan, std::size_t stage);

// Neighbouring stages with equally many layers and equal replicas.
struct StageRun {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<StageRun> runs_of_equal_stages(const Plan& plan);
std::string stages_text(const StageRun& run);                    // "3"; "3-5"
std::string layers_text(const Plan& plan, const StageRun& run);  // "6-7"; "6-11, 2 each"

// "12 replicas of 2 nvidia-l4 in us-central1-a, spot, with 20 to 21 microbatches each".
std::string similar_text(const Plan& plan, const SimilarReplicas& group);
std::string pool_text(const PoolKey& pool);  // "nvidia-l4 in us-central1-a, spot"
// The same without the zone, for a place on the page that says it.
std::string similar_text_without_zone(const Plan& plan, const SimilarReplicas& group);
std::string layers_text(const Stage& stage);  // "3-12", inclusive
// What the times rest on, in two sentences: "the execution model ...: ... If sums of gradients took ...".
std::string basis_text(const EstimateBasis& basis);
std::string microbatches_text(long count);  // "1 microbatch", "1,024 microbatches"

}  // namespace sailor::report
