// PlanOptions: what a question to the planner says besides the job and the cluster.
#pragma once

#include <chrono>
#include <optional>

#include "core/model/plan.h"
#include "core/model/units.h"

namespace sailor {

enum class PlanSpace {
  kPaper,  // equal replicas and microbatches in every stage, layers split evenly: Sailor's shape
  kFlow,   // anything that Plan can say
};

// How hard to try to prove that no plan is much better: a tenth of a second, or several.
enum class Proof { kQuick, kThorough };

// Where to search if there is a running plan.
enum class SearchScope {
  kEverywhere,
  kNearCurrent,  // only what is left of it and what is like that, if any of it will do: hundredths of a second
};

// Of the objective (time or cost of an iteration): below that a running job is not moved.
inline constexpr double kWorthwhileGain = 0.05;

struct PlanOptions {
  PlanSpace space = PlanSpace::kFlow;
  // The running plan. Moving its state costs time, which counts against what another plan gains in `expected_lifetime`;
  // it is the answer while it is feasible and no other is better by kWorthwhileGain after that.
  std::optional<Plan> current;
  Seconds expected_lifetime{3600};  // of the plan that is chosen: until the next node comes or goes
  SearchScope scope = SearchScope::kEverywhere;
  std::optional<std::chrono::nanoseconds> budget;  // after which the best plan so far is the answer
  int max_tensor_parallel = 8;                     // the largest degree that the trainer can run
  // Plans that share the optimizer's state among a stage's replicas, for any job. Without it only for jobs that keep
  // copies in peers' memory: a share has one holder, so one lost worker would send any other back to its last
  // checkpoint.
  bool may_shard_optimizer = false;
  Proof proof = Proof::kQuick;
  std::optional<std::chrono::nanoseconds> proof_budget;  // of the thorough proof, after the search
};

}  // namespace sailor
