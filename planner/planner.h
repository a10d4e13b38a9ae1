// Planner: the front door of the search. From a job and a cluster to the best plan in a plan space.
#pragma once

#include <stop_token>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/plan.h"
#include "core/model/schedule_times.h"
#include "planner/problem/estimator.h"
#include "planner/problem/plan_options.h"
#include "planner/search/search_report.h"

namespace sailor {

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
