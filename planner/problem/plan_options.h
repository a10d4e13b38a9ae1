// PlanOptions: what a caller tells the planner besides the job and the cluster.
#pragma once

#include <chrono>
#include <optional>

#include "core/model/plan.h"
#include "core/model/units.h"

namespace sailor {

enum class PlanSpace {
  kPaper,  // Sailor's shape: every stage has the same number of replicas and even shares of microbatches and layers
  kFlow,   // every plan that Plan can express
};

// How hard to try to prove that no plan is much better: for a tenth of a second, or for several seconds.
enum class Proof { kQuick, kThorough };

// Where to search if a plan is running.
enum class SearchScope {
  kEverywhere,
  kNearCurrent,  // only what is left of the running plan and similar plans, if one is feasible: hundredths of a second
};

// The part of the objective (time or cost of an iteration) that another plan must gain before a running job moves to
// it.
inline constexpr double kWorthwhileGain = 0.05;

struct PlanOptions {
  PlanSpace space = PlanSpace::kFlow;
  // The running plan. Moving its state takes time, which is subtracted from what another plan gains within
  // `expected_lifetime`. The running plan stays the answer while it is feasible and no other plan is better by
  // kWorthwhileGain after that.
  std::optional<Plan> current;
  Seconds expected_lifetime{3600};  // of the chosen plan: until the next node appears or disappears
  SearchScope scope = SearchScope::kEverywhere;
  std::optional<std::chrono::nanoseconds> budget;  // then the best plan so far is the answer
  int max_tensor_parallel = 8;                     // the largest tensor-parallel size that the trainer can run
  // Allows plans whose stages share the optimizer's state among their replicas, for any job. Without it, only jobs that
  // keep peer replicas of their state may have such plans: a share has one holder, so one lost worker would send any
  // other job back to its last checkpoint.
  bool may_shard_optimizer = false;
  Proof proof = Proof::kQuick;
  std::optional<std::chrono::nanoseconds> proof_budget;  // of the thorough proof, after the search
};

}  // namespace sailor
