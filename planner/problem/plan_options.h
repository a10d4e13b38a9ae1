// PlanOptions: the options of one call of the planner, beside the job and the cluster.
#pragma once

#include <chrono>
#include <optional>

#include "core/model/cluster_state.h"
#include "core/model/plan.h"
#include "core/model/units.h"

namespace sailor {

enum class PlanSpace {
  kPaper,  // Sailor's shape: every stage has the same number of replicas and even shares of microbatches and layers
  kFlow,   // every plan that Plan can express
};

// How much time to spend on a proof that no plan is much better: about a tenth of a second, or several seconds. With
// many pools, the quick proof computes only the closed-form bound (proof/bound.h).
enum class Proof { kQuick, kThorough };

// Which plans to search if a plan is running.
enum class SearchScope {
  kEverywhere,
  kNearCurrent,  // only plans near the running one, if one of them is feasible; takes hundredths of a second
};

// A running job moves to another plan only if the time or cost of an iteration falls by more than this fraction.
inline constexpr double kWorthwhileGain = 0.05;

struct PlanOptions {
  PlanSpace space = PlanSpace::kFlow;
  // The running plan. Training pauses while the job moves to another plan. The planner counts this pause against the
  // other plan, spread over `expected_lifetime`. It keeps the running plan while that is feasible and no other plan is
  // still better by kWorthwhileGain.
  std::optional<Plan> current;
  // The cluster as `current` uses it, if that is not the cluster in which to plan. A tensor-parallel group is as slow
  // as its slowest GPU, so if that GPU has become slow, the others count as of its speed grade here, and `current`
  // names the pool of this grade. The planner estimates `current` in this cluster. Every other plan forms groups of
  // equal GPUs.
  std::optional<ClusterState> current_cluster;
  // How long the chosen plan will probably run, until the next node joins or leaves.
  Seconds expected_lifetime{3600};
  SearchScope scope = SearchScope::kEverywhere;
  std::optional<std::chrono::nanoseconds> budget;  // a time limit; after it, the best plan so far is the answer
  int max_tensor_parallel = 8;                     // the largest tensor-parallel size that the trainer supports
  Proof proof = Proof::kQuick;
  // A time limit for the thorough proof, which starts after the search.
  std::optional<std::chrono::nanoseconds> proof_budget;
};

}  // namespace sailor
