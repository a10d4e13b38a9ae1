// Planner: the front door of the search. From a job and a cluster to the best plan in a plan space.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <vector>

#include "planner/estimator.h"
#include "planner/model/estimate.h"
#include "planner/model/plan.h"
#include "planner/model/schedule_times.h"

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
  // Plans that share the optimizer's state among a stage's replicas, for any job. Without it only for jobs that keep copies
  // in peers' memory: a share has one holder, so one lost worker would send any other back to its last checkpoint.
  bool may_shard_optimizer = false;
  Proof proof = Proof::kQuick;
  std::optional<std::chrono::nanoseconds> proof_budget;  // of the thorough proof, after the search
};

struct SearchReport {
  Seconds elapsed;
  long candidates = 0;
  long pruned_by_memory = 0;
  long pruned_by_bound = 0;
  bool was_cut_short = false;  // stopped or out of its budget: a longer search might have found better
};

// A plan that was considered, and what it would have given.
struct PricedPlan {
  Plan plan;
  Estimate estimate;
};

struct PlannedJob {
  Plan plan;
  ScheduleTimes schedule_times;  // of the step that the estimate was made by
  Estimate estimate;
  double bound_throughput = 0;  // no plan of the space can have more iterations per second
  Dollars bound_cost;           // no plan of the space costs less an iteration
  Seconds pause;                // to move to it from the running plan; zero if there is none, or it stays
  SearchReport search;
  std::vector<PricedPlan> alternatives;  // the Pareto front of throughput against cost per iteration, best first

  [[nodiscard]] double bound_ratio() const { return estimate.throughput() / bound_throughput; }
  [[nodiscard]] double cost_bound_ratio() const { return bound_cost / estimate.cost_per_iteration(); }
};

class Planner {
 public:
  explicit Planner(const Estimator& estimator) : estimator_(estimator) {}  // the estimator outlives the planner

  // The best plan by the job's objective; ties go to fewer GPUs. kInfeasible names the tightest constraint and by how
  // much it is missed. Same question, same answer: nothing is remembered between calls.
  [[nodiscard]] Result<PlannedJob> plan(const JobSpec& job, const ClusterState& cluster, const PlanOptions& options,
                                        std::stop_token stop) const;

 private:
  const Estimator& estimator_;
};

}  // namespace sailor
