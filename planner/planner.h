// Planner: the entry point of this folder. It finds the best plan in a plan space for a job on a cluster.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/missed_limit.h"
#include "core/model/plan.h"
#include "core/model/schedule_times.h"
#include "planner/problem/estimator.h"
#include "planner/problem/plan_options.h"
#include "planner/search/search_report.h"

namespace sailor {

// A plan and its estimate.
struct EstimatedPlan {
  Plan plan;
  Estimate estimate;
};

struct PlannedJob {
  Plan plan;
  ScheduleTimes schedule_times;  // the times from which the simulated schedule of the step was made
  Estimate estimate;
  double bound_throughput = 0;  // an upper bound: no plan of the space has more iterations per second
  Dollars bound_cost;           // a lower bound: no plan of the space costs less per iteration
  Seconds pause;               // how long training stops while the job moves to the plan; zero if the job does not move
  bool keeps_current = false;  // the plan is PlanOptions::current
  // The limit of the objective that PlanOptions::current misses, although it still has all its GPUs. Such a plan cannot
  // stay, so `plan` may be worse by the objective.
  std::optional<MissedLimit> limit_missed_by_current;
  SearchReport search;
  // The chosen plan and other plans of the Pareto front of iteration time and cost, the fastest first. Both include the
  // expected loss (loss_factor() in core/model/estimate.h).
  std::vector<EstimatedPlan> alternatives;

  // How close the plan is to what is proved possible. A ratio of 1 means that no plan can be better.
  [[nodiscard]] double bound_ratio() const { return estimate.throughput() / bound_throughput; }
  [[nodiscard]] double cost_bound_ratio() const { return bound_cost / estimate.cost_per_iteration(); }
};

class Planner {
 public:
  explicit Planner(const Estimator& estimator) : estimator_(estimator) {}  // the estimator must outlive the planner

  // Returns the best plan by the job's objective. Among equally good plans, it prefers the one with fewer GPUs, then
  // the one that moves less state, then the one on fewer nodes. If
  // `options.current` is set, the running plan stays unless another plan is clearly better (see PlanOptions::current).
  // Returns kInfeasible if no plan meets all constraints. The error names the first missed constraint, in the order
  // free GPUs, memory, cost, throughput, minGpus, and says by how much it is missed.
  // It also returns kInfeasible if the best plan's iteration takes no time, which only wrong profiles say.
  // The planner keeps no state between calls. Without time budgets and without a stop, equal questions get equal
  // answers.
  [[nodiscard]] Result<PlannedJob> plan(const JobSpec& job, const ClusterState& cluster, const PlanOptions& options,
                                        std::stop_token stop) const;

 private:
  const Estimator& estimator_;
};

}  // namespace sailor
