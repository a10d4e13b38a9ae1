// Brute force: every plan of a space with at most three stages, for worlds small enough to list them all.
#pragma once

#include <algorithm>
#include <optional>

#include "planner/planner.h"
#include "planner/problem/objective.h"
#include "tests/support/builders.h"

namespace sailor::testing {

class BruteForce {
 public:
  BruteForce(const Estimator& estimator, const JobSpec& job, const ClusterState& cluster,
             PlanSpace space = PlanSpace::kPaper)
      : job_(job),
        cluster_(cluster),
        space_(space),
        degrees_{1, 2},
        costs_(estimator.prepare(job, cluster, degrees_).value()) {
    if (const auto* throughput = std::get_if<MaximizeThroughput>(&job.objective)) {
      if (throughput->max_cost_per_iteration) ceiling_.cost = *throughput->max_cost_per_iteration * (1 + 1e-6);
    } else if (const auto& least = std::get<MinimizeCost>(job.objective).min_throughput) {
      ceiling_.iteration = Seconds(1 / *least) * (1 + 1e-6);
    }
  }

  // The best score of a feasible plan; nothing if there is none. By an enumeration that shares no code with the search.
  std::optional<Score> best() {
    for (const int size : job_.training.microbatch_sizes) {
      for (int stages = 1; stages <= 3; ++stages) choose_layers({size, 0, {}}, stages, 0);
    }
    return best_;
  }
  // Of plans that are better than one of this value; nothing if there is none.
  std::optional<Score> better_than(double value) {
    set_ceiling(value);
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
      next.stages.push_back({first, last, {}});
      choose_layers(std::move(next), stages - 1, last);
    }
  }

  static bool is_even(const GroupedPlan& plan) {
    const auto size = [](const GroupedStage& stage) { return stage.last_layer - stage.first_layer; };
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

  // Adds `left` replicas to a stage, of kinds from `kind` on (a kind is a pool and a degree).
  void choose_kinds(const GroupedPlan& plan, std::size_t stage, std::size_t kind, int left, int replicas) {
    if (plan.gpus() > cluster_.free_gpus()) return;
    if (left == 0) {
      if (stage + 1 < plan.stages.size()) return choose_kinds(plan, stage + 1, 0, replicas, replicas);
      return deal(plan, 0, replicas);
    }
    if (kind == cluster_.pools.size() * degrees_.size()) return;
    for (int count = 0; count <= left; ++count) {
      GroupedPlan next = plan;
      const auto pool = static_cast<int>(kind / degrees_.size());
      if (count > 0) next.stages[stage].groups.push_back({pool, degrees_[kind % degrees_.size()], 0, count});
      choose_kinds(next, stage, kind + 1, left - count, replicas);
    }
  }

  // Any number of replicas in every stage, at least one.
  void choose_any_kinds(const GroupedPlan& plan, std::size_t stage, std::size_t kind) {
    if (plan.gpus() > cluster_.free_gpus()) return;
    if (kind == cluster_.pools.size() * degrees_.size()) {
      if (plan.stages[stage].groups.empty() || is_hopeless(plan, stage)) return;
      if (stage + 1 < plan.stages.size()) return choose_any_kinds(plan, stage + 1, 0);
      return deal_freely(plan, 0);
    }
    choose_any_kinds(plan, stage, kind + 1);
    for (int count = 1; count <= std::min(plan.microbatches, cluster_.free_gpus()); ++count) {
      GroupedPlan next = plan;
      const auto pool = static_cast<int>(kind / degrees_.size());
      next.stages[stage].groups.push_back({pool, degrees_[kind % degrees_.size()], 0, count});
      choose_any_kinds(next, stage, kind + 1);
    }
  }

  // Every way to give all microbatches to the replicas of a stage, each at least one; equal replicas are told apart by
  // nothing, so theirs descend.
  void deal_freely(const GroupedPlan& plan, std::size_t stage) {
    if (stage == plan.stages.size()) return price(plan);
    GroupedPlan next = plan;
    next.stages[stage].groups.clear();
    deal_rest(next, stage, {plan.stages[stage].groups, 0, 0, plan.microbatches}, plan.microbatches);
  }

  struct Undealt {
    std::vector<ReplicaGroup> groups;
    std::size_t group = 0;
    int replica = 0;  // of the group
    int left = 0;     // microbatches
  };

  void deal_rest(const GroupedPlan& plan, std::size_t stage, const Undealt& rest, int most) {
    if (rest.group == rest.groups.size()) {
      if (rest.left == 0) deal_freely(plan, stage + 1);
      return;
    }
    const ReplicaGroup& group = rest.groups[rest.group];
    const Seconds each = pass(plan, stage, group);
    for (int share = 1; share <= std::min(most, rest.left) && each * (share * kRounding) < ceiling_.iteration;
         ++share) {
      GroupedPlan next = plan;
      next.stages[stage].groups.push_back({group.pool, group.tensor_parallel, share, 1});
      Undealt after{rest.groups, rest.group, rest.replica + 1, rest.left - share};
      const bool is_new_group = after.replica == group.count;
      if (is_new_group) after = {rest.groups, rest.group + 1, 0, after.left};
      deal_rest(next, stage, after, is_new_group ? plan.microbatches : share);
    }
  }

  // Microbatches as even as can be; who gets one more is tried in every way.
  void deal(GroupedPlan plan, std::size_t stage, int replicas) {
    if (stage == plan.stages.size()) return price(std::move(plan));
    std::vector<ReplicaGroup> groups = std::move(plan.stages[stage].groups);
    plan.stages[stage].groups.clear();
    deal_groups(plan, stage, groups, 0, plan.microbatches % replicas, replicas);
  }

  void deal_groups(const GroupedPlan& plan, std::size_t stage, const std::vector<ReplicaGroup>& groups, std::size_t at,
                   int extra, int replicas) {
    if (at == groups.size()) {
      if (extra == 0) deal(plan, stage + 1, replicas);
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
      deal_groups(next, stage, groups, at + 1, extra - more, replicas);
    }
  }

  void price(GroupedPlan plan) {
    for (GroupedStage& stage : plan.stages) normalize(stage);
    if (!costs_->quote_below(ceiling_, plan)) return;
    if (!resource_violations(expanded(plan, job_, cluster_), job_, cluster_).empty()) return;
    const Quote quote = costs_->played_quote(plan);
    const Score score = score_of(quote, plan.gpus(), job_);
    if (ceiling_.is_reached_by(quote) || !score.is_feasible()) return;
    best_ = score;
    set_ceiling(score.value);
  }

  void set_ceiling(double value) {
    if (std::holds_alternative<MaximizeThroughput>(job_.objective)) {
      ceiling_.iteration = std::min(ceiling_.iteration, Seconds(value));
    } else {
      ceiling_.cost = std::min(ceiling_.cost, Dollars(value));
    }
  }

  [[nodiscard]] Seconds pass(const GroupedPlan& plan, std::size_t stage, const ReplicaGroup& group) const {
    const GroupedStage& one = plan.stages[stage];
    const ProfilePoint point{plan.microbatch_size, group.tensor_parallel};
    return costs_->stage_cost({one.first_layer, one.last_layer, group.pool, point, false, 1}).pass();
  }

  // The replicas of a stage do not even do their own work below the ceiling, however it is dealt out, or they do not
  // earn what the plan's GPUs cost so far.
  [[nodiscard]] bool is_hopeless(const GroupedPlan& plan, std::size_t stage) const {
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
    const auto* throughput = std::get_if<MaximizeThroughput>(&job_.objective);
    if (throughput != nullptr && throughput->max_cost_per_hour && price > *throughput->max_cost_per_hour) return true;
    return least >= ceiling_.iteration || price * least >= ceiling_.cost;
  }

  static constexpr double kRounding = 1 - 1e-5;  // passes are played in whole nanoseconds

  const JobSpec& job_;
  const ClusterState& cluster_;
  PlanSpace space_;
  std::vector<int> degrees_;
  std::unique_ptr<JobEstimator> costs_;
  std::optional<Score> best_;
  Ceiling ceiling_;  // of plans that may be better
};

}  // namespace sailor::testing
