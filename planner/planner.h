// Planner: the entry point of this folder. Finds the best plan in a plan space for a job on a cluster.
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

// A plan and its estimate.
struct PricedPlan {
  Plan plan;
  Estimate estimate;
};

struct PlannedJob {
  Plan plan;
  ScheduleTimes schedule_times;  // from which the step of the estimate was simulated
  Estimate estimate;
  double bound_throughput = 0;  // an upper bound: no plan of the space has more iterations per second
  Dollars bound_cost;           // a lower bound: no plan of the space costs less per iteration
  Seconds pause;                // for moving to the plan from the running one; zero if none is running, or if it stays
  SearchReport search;
  std::vector<PricedPlan> alternatives;  // the Pareto front of throughput against cost per iteration, best first

  [[nodiscard]] double bound_ratio() const { return estimate.throughput() / bound_throughput; }
  [[nodiscard]] double cost_bound_ratio() const { return bound_cost / estimate.cost_per_iteration(); }
};

class Planner {
 public:
  explicit Planner(const Estimator& estimator) : estimator_(estimator) {}  // the estimator must outlive the planner

  // The best plan by the job's objective; ties go to fewer GPUs. kInfeasible names the tightest constraint and by how
  // much it is missed. The planner remembers nothing between calls: the same question gets the same answer.
  [[nodiscard]] Result<PlannedJob> plan(const JobSpec& job, const ClusterState& cluster, const PlanOptions& options,
                                        std::stop_token stop) const;

 private:
  const Estimator& estimator_;
};

}  // namespace sailor
