// Brute force: every plan of a space with at most three stages, for worlds small enough to list them all.
#pragma once

#include <algorithm>
#include <optional>

#include "planner/planner.h"
#include "planner/problem/goal.h"
#include "tests/support/builders.h"

namespace sailor::testing {

class BruteForce {
 public:
  BruteForce(const Estimator& estimator, const JobSpec& job, const ClusterState& cluster, PlanSpace space)
      : BruteForce(estimator, job, cluster, space, Goal::of(job)) {}
  BruteForce(const Estimator& estimator, const JobSpec& job, const ClusterState& cluster, PlanSpace space,
             const Goal& goal)
      : job_(job),
        cluster_(cluster),
        space_(space),
        goal_(goal),
        tensor_parallel_sizes_{1, 2},
        estimator_(estimator.prepare(job, cluster, tensor_parallel_sizes_).value()) {
    cutoff_.cost = std::min(goal.most_cost, goal.most_useful_cost) * (1 + 1e-6);
    cutoff_.iteration = std::min(goal.longest, goal.longest_useful) * (1 + 1e-6);
  }

  // Returns the figures of the best feasible plan, or nothing. The enumeration shares no code with the search.
  std::optional<EstimateSummary> best() {
    for (const int size : job_.training.microbatch_sizes) {
      for (int stages = 1; stages <= 3; ++stages) choose_layers({size, 0, {}}, stages, 0);
    }
    return best_;
  }
  // Returns the figures of the best plan whose value is below this one, or nothing.
  std::optional<EstimateSummary> better_than(double value) {
    set_cutoff(value);
    return best();
  }

 private:
  void choose_layers(GroupedPlan plan, int stages, int first) {
    const int layers = job_.model.layer_count();
    if (stages == 0) {
      if (first == layers && (space_ == PlanSpace::kFlow || is_even(plan))) choose_replicas(std::move(plan));
      return;
    }
    for (int last = first + 1; last <= layers; ++last) {
      GroupedPlan next = plan;
      next.stages.push_back({{first, last}, {}});
      choose_layers(std::move(next), stages - 1, last);
    }
  }

  static bool is_even(const GroupedPlan& plan) {
    const auto size = [](const GroupedStage& stage) { return stage.layers.size(); };
    const auto [few, many] = std::ranges::minmax(plan.stages, {}, size);
    return size(many) - size(few) <= 1;
  }

  void choose_replicas(GroupedPlan plan) {
    plan.microbatches = job_.training.global_batch_size / plan.microbatch_size;
    if (space_ == PlanSpace::kFlow) return choose_any_kinds(plan, 0, 0);
    for (int replicas = 1; replicas <= plan.microbatches && replicas <= cluster_.free_gpus(); ++replicas) {
      choose_kinds(plan, 0, 0, replicas, replicas);
    }
  }

  // Adds `left` replicas to a stage, of kinds from `kind` on (a kind is a pool and a tensor-parallel size).
  void choose_kinds(const GroupedPlan& plan, std::size_t stage, std::size_t kind, int left, int replicas) {
    if (plan.gpus() > cluster_.free_gpus()) return;
    if (left == 0) {
      if (stage + 1 < plan.stages.size()) return choose_kinds(plan, stage + 1, 0, replicas, replicas);
      return partition_evenly(plan, 0, replicas);
    }
    if (kind == cluster_.pools.size() * tensor_parallel_sizes_.size()) return;
    for (int count = 0; count <= left; ++count) {
      GroupedPlan next = plan;
      const auto pool = static_cast<int>(kind / tensor_parallel_sizes_.size());
      if (count > 0)
        next.stages[stage].groups.push_back(
            {pool, tensor_parallel_sizes_[kind % tensor_parallel_sizes_.size()], 0, count});
      choose_kinds(next, stage, kind + 1, left - count, replicas);
    }
  }

  // Tries every number of replicas in every stage, at least one.
  void choose_any_kinds(const GroupedPlan& plan, std::size_t stage, std::size_t kind) {
    if (plan.gpus() > cluster_.free_gpus()) return;
    if (kind == cluster_.pools.size() * tensor_parallel_sizes_.size()) {
      if (plan.stages[stage].groups.empty() || is_pruned(plan, stage)) return;
      if (stage + 1 < plan.stages.size()) return choose_any_kinds(plan, stage + 1, 0);
      return partition_freely(plan, 0);
    }
    choose_any_kinds(plan, stage, kind + 1);
    for (int count = 1; count <= std::min(plan.microbatches, cluster_.free_gpus()); ++count) {
      GroupedPlan next = plan;
      const auto pool = static_cast<int>(kind / tensor_parallel_sizes_.size());
      next.stages[stage].groups.push_back(
          {pool, tensor_parallel_sizes_[kind % tensor_parallel_sizes_.size()], 0, count});
      choose_any_kinds(next, stage, kind + 1);
    }
  }

  // Tries every partition of all microbatches among the replicas of a stage, each with at least one. Equal replicas are
  // interchangeable, so only descending shares are tried.
  void partition_freely(const GroupedPlan& plan, std::size_t stage) {
    if (stage == plan.stages.size()) return evaluate(plan);
    GroupedPlan next = plan;
    next.stages[stage].groups.clear();
    partition_rest(next, stage, {plan.stages[stage].groups, 0, 0, plan.microbatches}, plan.microbatches);
  }

  struct Unassigned {
    ReplicaGroups groups;
    std::size_t group = 0;
    int replica = 0;  // the index of the replica within its group
    int left = 0;     // microbatches
  };

  void partition_rest(const GroupedPlan& plan, std::size_t stage, const Unassigned& rest, int most) {
    if (rest.group == rest.groups.size()) {
      if (rest.left == 0) partition_freely(plan, stage + 1);
      return;
    }
    const ReplicaGroup& group = rest.groups[rest.group];
    const Seconds each = pass(plan, stage, group);
    for (int share = 1; share <= std::min(most, rest.left) && each * (share * kRounding) < cutoff_.iteration; ++share) {
      GroupedPlan next = plan;
      next.stages[stage].groups.push_back({group.pool, group.tensor_parallel, share, 1});
      Unassigned after{rest.groups, rest.group, rest.replica + 1, rest.left - share};
      const bool is_new_group = after.replica == group.count;
      if (is_new_group) after = {rest.groups, rest.group + 1, 0, after.left};
      partition_rest(next, stage, after, is_new_group ? plan.microbatches : share);
    }
  }

  // Partitions the microbatches as evenly as possible, and tries every choice of the replicas that get one more.
  void partition_evenly(GroupedPlan plan, std::size_t stage, int replicas) {
    if (stage == plan.stages.size()) return evaluate(std::move(plan));
    ReplicaGroups groups = std::move(plan.stages[stage].groups);
    plan.stages[stage].groups.clear();
    partition_groups(plan, stage, groups, 0, plan.microbatches % replicas, replicas);
  }

  void partition_groups(const GroupedPlan& plan, std::size_t stage, const ReplicaGroups& groups, std::size_t at,
                        int extra, int replicas) {
    if (at == groups.size()) {
      if (extra == 0) partition_evenly(plan, stage + 1, replicas);
      return;
    }
    const int base = plan.microbatches / replicas;
    for (int more = 0; more <= std::min(extra, groups[at].count); ++more) {
      GroupedPlan next = plan;
      ReplicaGroup group = groups[at];
      if (more > 0) next.stages[stage].groups.push_back({group.pool, group.tensor_parallel, base + 1, more});
      if (group.count > more) {
        next.stages[stage].groups.push_back({group.pool, group.tensor_parallel, base, group.count - more});
      }
      partition_groups(next, stage, groups, at + 1, extra - more, replicas);
    }
  }

  void evaluate(GroupedPlan plan) {
    for (GroupedStage& stage : plan.stages) normalize(stage);
    if (!estimator_->fast_estimate_below(cutoff_, plan)) return;
    if (!resource_violations(expanded(plan, job_, cluster_), job_, cluster_).empty()) return;
    const EstimateSummary estimate = estimator_->simulated_below({}, plan).value();
    const Score score = goal_.score_of(estimate, plan.gpus());
    if (cutoff_.is_reached_by(estimate) || !score.is_feasible()) return;
    best_ = estimate;
    set_cutoff(score.value);
  }

  void set_cutoff(double value) {
    if (goal_.figure == Goal::Figure::kTime) {
      cutoff_.iteration = std::min(cutoff_.iteration, Seconds(value));
    } else {
      cutoff_.cost = std::min(cutoff_.cost, Dollars(value));
    }
  }

  [[nodiscard]] Seconds pass(const GroupedPlan& plan, std::size_t stage, const ReplicaGroup& group) const {
    const GroupedStage& one = plan.stages[stage];
    const ProfilePoint point{plan.microbatch_size, group.tensor_parallel};
    return estimator_->stage_needs({one.layers, group.pool, point, false, 1}).pass();
  }

  // Whether the replicas of a stage cannot even do their own work below the cutoff, however the microbatches are
  // partitioned, or cannot do it for what the plan's GPUs cost so far.
  [[nodiscard]] bool is_pruned(const GroupedPlan& plan, std::size_t stage) const {
    double rate = 0;
    for (const ReplicaGroup& group : plan.stages[stage].groups) {
      rate += group.count / std::max(1e-12, pass(plan, stage, group).value());
    }
    DollarsPerHour price;
    for (const GroupedStage& one : plan.stages) {
      for (const ReplicaGroup& group : one.groups) {
        price += cluster_.pools[static_cast<std::size_t>(group.pool)].price_per_gpu * group.gpus();
      }
    }
    const Seconds least(plan.microbatches / rate * kRounding);
    if (price > goal_.most_cost_per_hour) return true;
    return least >= cutoff_.iteration || price * least >= cutoff_.cost;
  }

  static constexpr double kRounding = 1 - 1e-5;  // passes are simulated in whole nanoseconds

  const JobSpec& job_;
  const ClusterState& cluster_;
  PlanSpace space_;
  Goal goal_;
  std::vector<int> tensor_parallel_sizes_;
  std::unique_ptr<JobEstimator> estimator_;
  std::optional<EstimateSummary> best_;
  Cutoff cutoff_;  // plans below it may be better
};

}  // namespace sailor::testing
