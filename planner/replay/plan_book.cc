#include "planner/replay/plan_book.h"

#include <algorithm>
#include <functional>

#include "core/model/missed_limit.h"
#include "core/model/plan_hash.h"
#include "core/model/sort_unique.h"
#include "core/model/tensor_parallel.h"
#include "planner/replan/migration_cost.h"

namespace sailor {
namespace {

// `price` is that of all GPUs of the plan.
Dollars iteration_cost(const KnownPlan& known, DollarsPerHour price) {
  return price * known.estimate.iteration + known.estimate.traffic_cost_per_iteration;
}

}  // namespace

Result<PlanBook> PlanBook::make(const JobSpec& job, const ClusterState& whole, const Estimator& estimator,
                                const PlanOptions& options) {
  PlanBook book(job, estimator, options, {.job = job, .cluster = whole});
  PlanningProblem& problem = *book.problem_;
  problem.tensor_parallel_sizes =
      usable_tensor_parallel_sizes(problem.cluster, std::min(options.max_tensor_parallel, max_tensor_parallel(job)));
  auto prepared = estimator.prepare(job, problem.cluster, problem.tensor_parallel_sizes);
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  problem.set_estimator(*std::move(prepared));
  return book;
}

// Prices may change thousands of times.
int PlanBook::number_of(const ClusterState& cluster) {
  ClusterState asked = cluster;
  if (!depends_on_prices()) {
    for (Pool& pool : asked.pools) pool.price_per_gpu = whole().pools.front().price_per_gpu;
  }
  const auto known = std::ranges::find(clusters_, asked);
  if (known != clusters_.end()) return static_cast<int>(known - clusters_.begin());
  clusters_.push_back(std::move(asked));
  return static_cast<int>(clusters_.size()) - 1;
}

// With a single pool, a price is a factor of the cost of all plans.
bool PlanBook::depends_on_prices() const {
  const auto* fastest = std::get_if<MaximizeThroughput>(&job_.objective);
  const bool limits_cost = fastest != nullptr && *fastest != MaximizeThroughput();
  return whole().pools.size() > 1 || limits_cost;
}

void PlanBook::limit_searches(std::vector<int> clusters) {
  sort_unique(clusters);
  std::ranges::stable_sort(clusters, std::greater<>(), [&](int number) { return cluster(number).free_gpus(); });
  const std::size_t stride = (clusters.size() + kMostSearches - 1) / kMostSearches;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (i % stride != 0) near_[clusters[i]] = clusters[i - i % stride];
  }
}

Result<PlannedJob> PlanBook::ask(int cluster, PlanStyle style) {
  PlanOptions options = options_;
  if (style == PlanStyle::kEqualPipelines) {
    options.space = PlanSpace::kPaper;
    options.max_tensor_parallel = 1;
  }
  if (const auto near = near_.find(cluster); near != near_.end()) {
    if (const auto larger = best(near->second, style)) {
      options.current = plan(*larger).plan;
      options.scope = SearchScope::kNearCurrent;
    }
  }
  return Planner(estimator_).plan(job_, this->cluster(cluster), options, {});
}

Result<int> PlanBook::best(int cluster, PlanStyle style) {
  const auto known = best_.find({cluster, style});
  if (known != best_.end()) return known->second;
  auto answer = ask(cluster, style);
  const Result<int> number = answer ? Result<int>(add(std::move(answer->plan), std::move(answer->estimate)))
                                    : tl::unexpected(std::move(answer.error()));
  return best_.emplace(std::pair(cluster, style), number).first->second;
}

int PlanBook::add(Plan plan, Estimate estimate) {
  const std::string hash = plan_hash(plan);
  const auto [known, is_new] = by_hash_.try_emplace(hash, size());
  if (!is_new) return known->second;
  grouped_.push_back(grouped(plan, problem_->cluster).value());
  std::vector<int> gpus = gpus_of_pools(grouped_.back(), problem_->cluster.pools.size());
  plans_.push_back({std::move(plan), std::move(estimate), hash, std::move(gpus)});
  return known->second;
}

bool PlanBook::fits(int plan, int cluster) {
  const auto known = fits_.find({plan, cluster});
  if (known != fits_.end()) return known->second;
  const bool fits = resource_violations(this->plan(plan).plan, job_, this->cluster(cluster)).empty();
  return fits_[{plan, cluster}] = fits;
}

bool PlanBook::keeps_limits(int plan, int cluster) {
  const auto known = keeps_limits_.find({plan, cluster});
  if (known != keeps_limits_.end()) return known->second;
  const KnownPlan& asked = this->plan(plan);
  DollarsPerHour price;
  for (const auto& [pool, gpus] : gpus_by_pool(asked.plan)) {
    price += this->cluster(cluster).find(pool)->price_per_gpu * gpus;
  }
  const bool keeps = !missed_limit(job_.objective, asked.estimate.iteration, iteration_cost(asked, price));
  return keeps_limits_[{plan, cluster}] = keeps;
}

PlanFigures PlanBook::figures(int plan, const std::vector<DollarsPerHour>& prices) const {
  const KnownPlan& known = this->plan(plan);
  const Estimate& estimate = known.estimate;
  DollarsPerHour price;
  for (std::size_t i = 0; i < prices.size(); ++i) price += prices[i] * known.gpus_of_pools[i];
  const double factor = loss_factor(job_, estimate.expected_loss);
  return {estimate.iteration.value() * factor, iteration_cost(known, price).value() * factor};
}

Seconds PlanBook::pause(const HeldState& held, int next) const {
  return MigrationCost(*problem_, held.remaining(), problem_->cluster)
      .pause_for(grouped_[static_cast<std::size_t>(next)]);
}

Seconds PlanBook::time_to_hand_over(const HeldState& held, const HeldState& left, int next) const {
  GroupedPlan leaving = held.remaining();
  for (std::size_t stage = 0; stage < leaving.stages.size(); ++stage) {
    for (ReplicaGroup group : left.remaining().stages[stage].groups) {
      group.count = -group.count;
      leaving.stages[stage].add(group);
    }
  }
  return MigrationCost(*problem_, left.remaining(), problem_->cluster)
      .time_to_hand_over(leaving, grouped_[static_cast<std::size_t>(next)]);
}

HeldState PlanBook::held_by(int plan, const std::vector<PlacedGroup>& groups, const std::vector<int>& nodes) const {
  return {this->plan(plan).plan, groups, nodes, problem_->cluster};
}

}  // namespace sailor
