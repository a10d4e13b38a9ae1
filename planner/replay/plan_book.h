// PlanBook: the plans that a replay knows. It remembers the planner's answers, so that equal questions are asked once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/planner.h"
#include "planner/problem/planning_problem.h"
#include "planner/replan/change_rules.h"
#include "planner/replay/held_state.h"

namespace sailor {

struct KnownPlan {
  Plan plan;
  Estimate estimate;
  std::string hash;
  std::vector<int> gpus_of_pools;  // by pool of the whole cluster
};

enum class PlanStyle {
  kAny,             // any plan of the plan space that the options name
  kEqualPipelines,  // pipelines of single GPUs with equal layers and microbatches, as Varuna has them
};

class PlanBook {
 public:
  static constexpr int kMostSearches = 32;

  // `whole` is the cluster with all its nodes, without pools that the job cannot use (usable_part()). The arguments
  // must outlive the book.
  static Result<PlanBook> make(const JobSpec& job, const ClusterState& whole, const Estimator& estimator,
                               const PlanOptions& options);

  // Returns the number of the cluster in this book. Clusters that differ only in prices have the same number if no
  // answer depends on prices.
  int number_of(const ClusterState& cluster);
  // Keeps questions about many clusters fast. If there are more than kMostSearches, only so many of them are searched
  // everywhere. For each other, the planner searches near the plan of the next larger one, which takes a tenth of the
  // time.
  void limit_searches(std::vector<int> clusters);
  // Returns the number in this book of the best plan for the cluster. Fails with kInfeasible if there is none.
  Result<int> best(int cluster, PlanStyle style);
  bool fits(int plan, int cluster);
  // Whether the plan keeps the limits of the job's objective at the prices of the cluster.
  bool keeps_limits(int plan, int cluster);

  [[nodiscard]] const ClusterState& whole() const { return problem_->cluster; }
  [[nodiscard]] int size() const { return static_cast<int>(plans_.size()); }
  [[nodiscard]] const KnownPlan& plan(int number) const { return plans_[static_cast<std::size_t>(number)]; }
  // The figures of the plan at these prices by pool. They count what failures of nodes are expected to cost if the job
  // leaves redundancy to the planner.
  [[nodiscard]] PlanFigures figures(int plan, const std::vector<DollarsPerHour>& prices) const;

  // The pause of a live change, by the same function as the planner's.
  [[nodiscard]] Seconds pause(const HeldState& held, int next) const;
  // The time in which nodes that leave send the state that only they hold: `held` without that which is `left`.
  [[nodiscard]] Seconds time_to_hand_over(const HeldState& held, const HeldState& left, int next) const;
  [[nodiscard]] HeldState held_by(int plan, const std::vector<PlacedGroup>& groups,
                                  const std::vector<int>& nodes) const;

 private:
  PlanBook(const JobSpec& job, const Estimator& estimator, PlanOptions options, PlanningProblem problem)
      : job_(job),
        estimator_(estimator),
        options_(std::move(options)),
        problem_(std::make_unique<PlanningProblem>(std::move(problem))) {}

  [[nodiscard]] bool depends_on_prices() const;
  int add(Plan plan, Estimate estimate);
  [[nodiscard]] Result<PlannedJob> ask(int cluster, PlanStyle style);
  [[nodiscard]] const ClusterState& cluster(int number) const { return clusters_[static_cast<std::size_t>(number)]; }

  const JobSpec& job_;
  const Estimator& estimator_;
  PlanOptions options_;
  // The question about the whole cluster. It gives the sizes of states and the times of links. The estimator refers to
  // it, so it must not move.
  std::unique_ptr<PlanningProblem> problem_;
  std::vector<ClusterState> clusters_;
  std::map<int, int> near_;  // clusters that are not searched everywhere, and the cluster near whose plan they are
  std::vector<KnownPlan> plans_;
  std::vector<GroupedPlan> grouped_;
  std::map<std::string, int> by_hash_;
  std::map<std::pair<int, PlanStyle>, Result<int>> best_;
  std::map<std::pair<int, int>, bool> fits_;
  std::map<std::pair<int, int>, bool> keeps_limits_;
};

}  // namespace sailor
