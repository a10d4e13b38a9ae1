#include "planner/search/fast_estimates.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "planner/problem/draft.h"

namespace sailor {
namespace {

// Messages that take up to this part of the work of the busiest replica are hidden behind it.
constexpr double kHidden = 0.3;
constexpr double kExposed = 0.7;  // of the rest
// The part of the longest detour through slow replicas that makes a step longer.
constexpr double kTaken = 0.3;

// The stages of a plan times the replicas of its largest stage, in plans of which the estimator simulates two rounds.
constexpr int kMostReplicas = 225;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

double pass_of(const ReplicaGroup& group, const GroupedStage& stage, const GroupedPlan& plan,
               const PlanningProblem& problem) {
  return problem.pass(group.pool, {plan.microbatch_size, group.tensor_parallel}, stage.layers, plan.techniques);
}

double longest_work(const GroupedPlan& plan, const PlanningProblem& problem) {
  double longest = 0;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      longest = std::max(longest, group.microbatches * pass_of(group, stage, plan, problem));
    }
  }
  return longest;
}

// Returns how much longer a microbatch's way through the slowest replica of every stage is than the mean way.
double detour(const GroupedPlan& plan, const PlanningProblem& problem) {
  double detour = 0;
  for (const GroupedStage& stage : plan.stages) {
    double mean = 0;
    double slowest = 0;
    for (const ReplicaGroup& group : stage.groups) {
      const double pass = pass_of(group, stage, plan, problem);
      mean += pass * group.microbatches * group.count / plan.microbatches;
      slowest = std::max(slowest, pass);
    }
    detour += slowest - mean;
  }
  return detour;
}

// Whether all replicas of all stages take turns. The fast estimate of such a plan is nearly exact.
bool is_even(const GroupedPlan& plan) {
  int fewest = plan.microbatches;
  int most = 0;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      fewest = std::min(fewest, group.microbatches);
      most = std::max(most, group.microbatches);
    }
  }
  return most - fewest <= 1;
}

// Whether the plan is so small that its fast estimate simulates the first rounds, and with them how messages queue.
bool is_small(const GroupedPlan& plan) {
  int most = 0;
  for (const GroupedStage& stage : plan.stages) most = std::max(most, stage.replicas());
  return most * std::ssize(plan.stages) <= kMostReplicas;
}

}  // namespace

FastEstimates::FastEstimates(const PlanningProblem& problem)
    : problem_(problem),
      occupancies_(problem.job.training.microbatch_sizes.size() * problem.tensor_parallel_sizes.size() *
                       index(problem.pools()) * index(problem.pools()),
                   -1) {}

std::optional<EstimateSummary> FastEstimates::below(const Cutoff& cutoff, const GroupedPlan& plan) {
  auto estimate = problem_.estimator->fast_estimate_below(cutoff, plan);
  if (!estimate || plan.stages.size() == 1 || is_even(plan)) return estimate;
  const Seconds queueing = this->queueing(plan);
  if (queueing <= Seconds(0)) return estimate;
  estimate->iteration += queueing;
  estimate->cost += gpu_price(plan.stages, problem_) * queueing;
  if (cutoff.is_reached_by(*estimate)) return std::nullopt;
  return estimate;
}

Seconds FastEstimates::queueing(const GroupedPlan& plan) {
  const Seconds taken(kTaken * detour(plan, problem_));
  if (is_small(plan)) return taken;
  const double messages = std::max(0.0, busiest_link(plan) - kHidden * longest_work(plan, problem_));
  return Seconds(kExposed * messages) + taken;
}

// Returns for how long the messages to the next stage keep the busiest replica busy.
double FastEstimates::busiest_link(const GroupedPlan& plan) {
  double busiest = 0;
  for (std::size_t i = 0; i + 1 < plan.stages.size(); ++i) {
    for (const ReplicaGroup& from : plan.stages[i].groups) {
      double least = std::numeric_limits<double>::infinity();
      for (const ReplicaGroup& to : plan.stages[i + 1].groups) least = std::min(least, occupancy(plan, from, to.pool));
      busiest = std::max(busiest, from.microbatches * least);
    }
  }
  return busiest;
}

// The outputs of all layers have the same size, except that of the last, which is sent to nobody.
double FastEstimates::occupancy(const GroupedPlan& plan, const ReplicaGroup& from, int to_pool) {
  const auto& sizes = problem_.job.training.microbatch_sizes;
  const auto size = index(static_cast<int>(std::ranges::find(sizes, plan.microbatch_size) - sizes.begin()));
  const auto log = index(std::countr_zero(static_cast<unsigned>(from.tensor_parallel)));
  const auto pools = index(problem_.pools());
  float& known =
      occupancies_[((size * problem_.tensor_parallel_sizes.size() + log) * pools + index(from.pool)) * pools +
                   index(to_pool)];
  if (known < 0) {
    const StageShape sender{.layers = {0, 1},
                            .pool = from.pool,
                            .point = {plan.microbatch_size, from.tensor_parallel},
                            .activation_checkpointing = plan.techniques.recomputes};
    known = static_cast<float>(problem_.estimator->least_message(sender, to_pool, false).occupancy.value());
  }
  return known;
}

}  // namespace sailor
