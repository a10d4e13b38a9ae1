#include "planner/planner.h"

#include <algorithm>
#include <array>

#include "core/model/tensor_parallel.h"
#include "planner/problem/planning_problem.h"
#include "planner/problem/worth_moving.h"
#include "planner/proof/bound.h"
#include "planner/replan/migration_cost.h"
#include "planner/replan/repair.h"
#include "planner/search/infeasible.h"
#include "planner/search/search.h"

namespace sailor {
namespace {

using Clock = std::chrono::steady_clock;

SearchLimits limits_of(const PlanOptions& options, Clock::time_point start, std::stop_token stop) {
  SearchLimits limits{std::move(stop), std::nullopt};
  if (options.budget) limits.deadline = start + std::chrono::duration_cast<Clock::duration>(*options.budget);
  return limits;
}

Result<PricedPlan> priced(const Estimator& estimator, const World& world, const GroupedPlan& grouped,
                          const ClusterState& cluster) {
  Plan plan = expanded(grouped, world.job, world.cluster);
  auto estimate = estimator.simulate(world.job, cluster, plan);
  if (!estimate) return tl::unexpected(std::move(estimate.error()));
  return PricedPlan{std::move(plan), *std::move(estimate)};
}

// If no plan was seen that fits in memory, once more with groups that are too large for their GPUs, to find what comes
// nearest.
Error nearest_miss(World world, const PlanOptions& options, const SearchLimits& limits, const Contender* seen) {
  if (seen != nullptr && !seen->score.is_feasible()) return explain_infeasible(world, seen);
  world.is_memory_ignored = true;
  Search search(world, limits, nullptr);
  search.run(options.space, {});
  return explain_infeasible(world, search.best());
}

// The fastest first, without those that turn out slower and dearer than another when they are played.
std::vector<PricedPlan> alternatives(const Estimator& estimator, const World& world, const ClusterState& cluster,
                                     const ParetoFront& front, const PricedPlan& chosen) {
  std::vector<PricedPlan> plans{chosen};
  const auto chosen_plan = grouped(chosen.plan, world.cluster).value();
  for (const ParetoFront::Entry& entry : front.chosen(kAlternatives)) {
    if (entry.plan == chosen_plan) continue;
    auto other = priced(estimator, world, entry.plan, cluster);
    if (other && other->estimate.fits()) plans.push_back(*std::move(other));
  }
  std::ranges::stable_sort(plans, {}, [](const PricedPlan& plan) {
    return std::pair(plan.estimate.iteration, plan.estimate.cost_per_iteration());
  });
  std::vector<PricedPlan> kept;
  for (PricedPlan& plan : plans) {
    const bool is_dearer =
        !kept.empty() && plan.estimate.cost_per_iteration() >= kept.back().estimate.cost_per_iteration();
    if (!is_dearer) kept.push_back(std::move(plan));
  }
  return kept;
}

// Whether this planner could have chosen such a plan, were there GPUs enough.
bool is_known(const Plan& plan, const World& world) {
  if (!check_well_formed(plan, world.job) || (plan.sharded_optimizer && !world.may_shard_optimizer)) return false;
  const auto& sizes = world.job.training.microbatch_sizes;
  if (std::ranges::find(sizes, plan.microbatch_size) == sizes.end()) return false;
  return std::ranges::all_of(plan.stages, [&](const Stage& stage) {
    return std::ranges::all_of(stage.replicas, [&](const Replica& replica) {
      return std::ranges::find(world.degrees, replica.tensor_parallel) != world.degrees.end();
    });
  });
}

// Nothing if it has lost some of its GPUs.
std::optional<GroupedPlan> whole(const Plan& running, const World& world) {
  auto plan = grouped(running, world.cluster);
  if (!plan || !keeps_to_resources(*plan, world)) return std::nullopt;
  return *std::move(plan);
}

// What runs, as far as there are GPUs for it: who holds what, but no plan.
GroupedPlan left_of(const Plan& running, const World& world) {
  GroupedPlan left{running.microbatch_size, running.microbatches(), {}};
  for (const DraftStage& stage : what_is_left(running, world).stages) {
    GroupedStage& into = left.stages.emplace_back(GroupedStage{stage.first_layer, stage.last_layer, {}});
    for (const Crew& crew : stage.crews) into.groups.push_back({crew.pool, crew.degree, 0, crew.count});
  }
  return left;
}

struct Choice {
  Contender plan;
  Seconds pause;
};

// One question with a running plan, or without.
class Asked {
 public:
  Asked(const World& world, const PlanOptions& options, const SearchLimits& limits) : options_(options) {
    if (options.current && is_known(*options.current, world)) {
      running_ = &*options.current;
      whole_ = whole(*running_, world);
      moving_.emplace(world, whole_ ? *whole_ : left_of(*running_, world));
    }
    search_.emplace(world, limits, moving_ ? &*moving_ : nullptr);
    if (running_ == nullptr) return;
    if (whole_) {
      if (const auto stay = search_->offer(*whole_)) stay_ = search_->played(*stay, kNoRival);
    }
    search_->repair(*running_, options.space);
    if (has_feasible()) near_ = *search_->best();
  }

  // Whether what is near the running plan is answer enough.
  [[nodiscard]] bool is_answered() const { return options_.scope == SearchScope::kNearCurrent && near_; }
  Search& search() { return *search_; }

  // The best plan, what moving to it costs counted in, or the running one if that is nearly as good; nothing if none is
  // feasible.
  [[nodiscard]] std::optional<Choice> choice() const {
    if (!has_feasible()) return std::nullopt;
    Choice best{*search_->best(), pause_for(*search_->best())};
    if (near_ && value_of({*near_, pause_for(*near_)}) < value_of(best)) best = {*near_, pause_for(*near_)};
    const bool moves = !stay_ || is_worth_moving(stay_->score.value, value_of(best));
    return moves ? best : Choice{*stay_, Seconds(0)};
  }

 private:
  [[nodiscard]] bool has_feasible() const { return search_->best() != nullptr && search_->best()->score.is_feasible(); }
  [[nodiscard]] Seconds pause_for(const Contender& next) const {
    return moving_ ? moving_->pause_for(next.plan) : Seconds(0);
  }
  [[nodiscard]] double value_of(const Choice& choice) const {
    return value_with_pause(choice.plan.score.value, choice.pause, options_.expected_lifetime);
  }

  const PlanOptions& options_;
  const Plan* running_ = nullptr;
  std::optional<GroupedPlan> whole_;
  std::optional<Moving> moving_;
  std::optional<Search> search_;
  std::optional<Contender> stay_;  // the running plan, if it is feasible
  std::optional<Contender> near_;  // the best of those near it
};

// Each goes on from the one before, so that a longer proof never says less.
constexpr std::array<Refuter::Effort, 3> kThorough{
    {{.ways = 8, .ends = 24, .tries = 4, .depth = 2, .programs = 400},
     {.ways = 12, .ends = 48, .tries = 6, .depth = 3, .programs = 1000},
     {.ways = 24, .ends = 96, .tries = 8, .depth = 5, .programs = 4000}}};
constexpr int kMostPoolsOfQuickProof = 6;  // with more, already the first programs take seconds

double proved_throughput(const World& world, double seconds, const PlanOptions& options, const SearchLimits& limits) {
  Refuter refuter(world);
  double refuted = 1 / bound_throughput(world);
  if (world.pools() <= kMostPoolsOfQuickProof) {
    refuted = proved_seconds(refuter, {refuted, seconds}, {}, [&] { return limits.is_over(); });
  }
  if (options.proof == Proof::kQuick) return 1 / refuted;
  const Clock::time_point start = Clock::now();
  const auto is_over = [&] {
    return limits.is_over() || (options.proof_budget && Clock::now() - start >= *options.proof_budget);
  };
  for (const Refuter::Effort& effort : kThorough) {
    refuted = proved_seconds(refuter, {refuted, seconds}, effort, is_over);
  }
  return 1 / refuted;
}

}  // namespace

Result<PlannedJob> Planner::plan(const JobSpec& job, const ClusterState& given, const PlanOptions& options,
                                 std::stop_token stop) const {
  const Clock::time_point start = Clock::now();
  const ClusterState cluster = normalized(given);
  World world{.job = job, .cluster = usable_part(job, cluster)};
  if (auto checked = check_capacity(job, cluster, world.cluster); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  world.degrees = usable_degrees(world.cluster, std::min(options.max_tensor_parallel, max_tensor_parallel(job)));
  world.may_shard_optimizer = options.may_shard_optimizer || job.redundancy == Redundancy::kPeer;
  world.savings = world.allowed_savings().front();
  auto costs = estimator_.prepare(job, world.cluster, world.degrees);
  if (!costs) return tl::unexpected(std::move(costs.error()));
  world.ask(*std::move(costs));

  const SearchLimits limits = limits_of(options, start, std::move(stop));
  Asked asked(world, options, limits);
  const Search& search = asked.search();
  std::vector<KindTable> tables;
  if (!asked.is_answered()) {
    tables = kind_tables(world);
    asked.search().run(options.space, tables);
  }
  const std::optional<Choice> choice = asked.choice();
  if (!choice) return tl::unexpected(nearest_miss(world, options, limits, search.best_that_fits()));

  auto chosen = priced(estimator_, world, choice->plan.plan, cluster);
  if (!chosen) return tl::unexpected(std::move(chosen.error()));
  auto times = estimator_.schedule_times(job, cluster, chosen->plan);
  if (!times) return tl::unexpected(std::move(times.error()));
  PlannedJob planned{
      .plan = chosen->plan, .schedule_times = *std::move(times), .estimate = chosen->estimate, .pause = choice->pause};
  planned.bound_throughput = asked.is_answered()
                                 ? bound_throughput(world)
                                 : proved_throughput(world, planned.estimate.iteration.value(), options, limits);
  planned.bound_cost = bound_cost(world);
  planned.search = search.report();
  if (asked.is_answered()) {
    planned.alternatives = {*chosen};
  } else {
    planned.alternatives = alternatives(estimator_, world, cluster, search.front(), *chosen);
  }
  planned.search.was_cut_short = limits.is_over();
  planned.search.elapsed = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  return planned;
}

}  // namespace sailor
