#include "planner/planner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/model/slow_nodes.h"
#include "core/model/tensor_parallel.h"
#include "planner/problem/planning_problem.h"
#include "planner/problem/run_both.h"
#include "planner/problem/worth_moving.h"
#include "planner/proof/bound.h"
#include "planner/proof/bound_prover.h"
#include "planner/replan/migration_cost.h"
#include "planner/replan/repair.h"
#include "planner/search/infeasible.h"
#include "planner/search/rate_search.h"
#include "planner/search/search.h"
#include "planner/search/search_again.h"

namespace sailor {
namespace {

using Clock = std::chrono::steady_clock;

SearchLimits limits_of(const PlanOptions& options, Clock::time_point start, std::stop_token stop) {
  SearchLimits limits{std::move(stop), std::nullopt};
  if (options.budget) limits.deadline = start + std::chrono::duration_cast<Clock::duration>(*options.budget);
  return limits;
}

// Profiles whose times are 0 give iterations of 0 s, whose throughput and cost per hour are not finite.
Result<void> check_iteration(const Estimate& estimate) {
  const double seconds = estimate.iteration.value();
  if (seconds > 0 && std::isfinite(seconds) && std::isfinite(estimate.cost_per_hour.value())) return {};
  return fail(ErrorCode::kInfeasible,
              fmt::format("the profiles give an iteration of {} s; measure them again", seconds));
}

Result<EstimatedPlan> estimated(const Estimator& estimator, const PlanningProblem& problem, const GroupedPlan& grouped,
                                const ClusterState& cluster) {
  Plan plan = expanded(grouped, problem.job, problem.cluster);
  auto estimate = estimator.simulate(problem.job, cluster, plan);
  if (!estimate) return tl::unexpected(std::move(estimate.error()));
  if (auto checked = check_iteration(*estimate); !checked) return tl::unexpected(std::move(checked.error()));
  return EstimatedPlan{std::move(plan), *std::move(estimate)};
}

// Computes what follows from the job and the cluster. The problem must stay where it is, because the estimator refers
// to its cluster.
Result<void> prepare(PlanningProblem& problem, const Estimator& estimator, const PlanOptions& options) {
  problem.tensor_parallel_sizes = usable_tensor_parallel_sizes(
      problem.cluster, std::min({options.max_tensor_parallel, max_tensor_parallel(problem.job), problem.most_gpus()}));
  auto prepared = estimator.prepare(problem.job, problem.cluster, problem.tensor_parallel_sizes);
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  problem.set_estimator(*std::move(prepared));
  return {};
}

// Explains why no plan is feasible. If the search saw no plan that fits in memory, searches again while ignoring
// memory, to find the plan that comes nearest.
Error nearest_miss(PlanningProblem problem, const PlanOptions& options, const SearchLimits& limits,
                   const Search& done) {
  if (const PlanCandidate* seen = done.best_that_fits(); seen != nullptr && !seen->score.is_feasible()) {
    const auto exact = done.simulated(*seen);
    return explain_infeasible(problem, exact && !exact->score.is_feasible() ? &*exact : seen, {});
  }
  problem.ignores_memory = true;
  Search search(problem, limits, nullptr);
  search.run(options.space, {});
  return explain_infeasible(problem, search.best(), search.report());
}

// Returns the chosen plan and the alternatives, the fastest first. Leaves out plans that the simulation shows to be
// both slower and more expensive than another one, expected losses included.
std::vector<EstimatedPlan> alternatives(const Estimator& estimator, const PlanningProblem& problem,
                                        const ClusterState& cluster, const ParetoFront& front,
                                        const EstimatedPlan& chosen) {
  std::vector<EstimatedPlan> plans{chosen};
  const auto chosen_plan = grouped(chosen.plan, problem.cluster);  // an error if it runs in another cluster
  for (const ParetoFront::Entry& entry : front.sample(kAlternatives)) {
    if (chosen_plan && entry.plan == *chosen_plan) continue;
    auto other = estimated(estimator, problem, entry.plan, cluster);
    if (other && other->estimate.fits()) plans.push_back(*std::move(other));
  }
  const auto useful = [&](const EstimatedPlan& plan) {
    const double factor = loss_factor(problem.job, plan.estimate.expected_loss);
    return std::pair(plan.estimate.iteration * factor, plan.estimate.cost_per_iteration() * factor);
  };
  std::ranges::stable_sort(plans, {}, useful);
  std::vector<EstimatedPlan> kept;
  for (EstimatedPlan& plan : plans) {
    const bool is_more_expensive = !kept.empty() && useful(plan).second >= useful(kept.back()).second;
    if (!is_more_expensive) kept.push_back(std::move(plan));
  }
  return kept;
}

// Whether the search could find this plan if there were enough GPUs.
bool is_in_search_space(const Plan& plan, const PlanningProblem& problem) {
  if (!check_well_formed(plan, problem.job)) return false;
  const std::vector<Techniques> allowed = problem.allowed_techniques();
  if (std::ranges::find(allowed, techniques_of(plan)) == allowed.end()) return false;
  const auto& sizes = problem.job.training.microbatch_sizes;
  if (std::ranges::find(sizes, plan.microbatch_size) == sizes.end()) return false;
  return std::ranges::all_of(plan.stages, [&](const Stage& stage) {
    return std::ranges::all_of(stage.replicas, [&](const Replica& replica) {
      return std::ranges::binary_search(problem.tensor_parallel_sizes, replica.tensor_parallel);
    });
  });
}

// Returns the part of the running plan that still has its GPUs. It tells which GPUs hold which state, but it is not a
// complete plan.
GroupedPlan remainder_of(const Plan& running, const PlanningProblem& problem) {
  const Draft surviving = surviving_part(running, problem);
  return {running.microbatch_size, running.microbatches(), surviving.stages};
}

// Returns the running plan with the peer replicas that the job asks for now, or nothing if it lies outside the search
// space.
std::optional<Plan> known_running_plan(const std::optional<Plan>& current, const PlanningProblem& problem) {
  if (!current) return std::nullopt;
  Plan running = *current;
  if (!allows_peer_replicas(problem.job.redundancy, running.peer_replicas)) {
    running.peer_replicas = !running.peer_replicas;
  }
  return is_in_search_space(running, problem) ? std::optional(std::move(running)) : std::nullopt;
}

// A running plan that still has all its GPUs.
class IntactPlan {
 public:
  // Returns nothing if the plan has lost some of its GPUs.
  static std::optional<IntactPlan> find(const Plan& running, const PlanningProblem& problem, const Estimator& estimator,
                                        const PlanOptions& options) {
    auto own = make_own_problem(problem, estimator, options);
    const PlanningProblem& where = own ? *own : problem;
    auto plan = grouped(running, where.cluster);
    if (!plan || !keeps_to_resources(*plan, where)) return std::nullopt;
    return IntactPlan(*std::move(plan), std::move(own));
  }

  [[nodiscard]] const GroupedPlan& plan() const { return plan_; }
  // Returns the problem in which the plan runs, or null if that is the one in which other plans are searched.
  [[nodiscard]] const PlanningProblem* own_problem() const { return own_.get(); }

 private:
  IntactPlan(GroupedPlan plan, std::unique_ptr<PlanningProblem> own) : plan_(std::move(plan)), own_(std::move(own)) {}

  // Returns the problem with PlanOptions::current_cluster, or nothing if that is not set.
  static std::unique_ptr<PlanningProblem> make_own_problem(const PlanningProblem& problem, const Estimator& estimator,
                                                           const PlanOptions& options) {
    if (!options.current_cluster) return nullptr;
    auto own = std::make_unique<PlanningProblem>(
        PlanningProblem{.job = problem.job, .cluster = usable_part(problem.job, normalized(*options.current_cluster))});
    return own->pools() > 0 && prepare(*own, estimator, options) ? std::move(own) : nullptr;
  }

  GroupedPlan plan_;
  std::unique_ptr<PlanningProblem> own_;
};

std::optional<MigrationCost> migration_from(const std::optional<Plan>& running, const std::optional<IntactPlan>& intact,
                                            const PlanningProblem& problem) {
  if (!running) return std::nullopt;
  if (intact) {
    const PlanningProblem* own = intact->own_problem();
    return MigrationCost(problem, intact->plan(), own != nullptr ? own->cluster : problem.cluster);
  }
  return MigrationCost(problem, remainder_of(*running, problem), problem.cluster);
}

struct Choice {
  PlanCandidate plan;
  Seconds pause;
  bool is_current = false;
};

// Searches near the running plan, if there is one, and chooses between the running plan and the plans that the search
// has found.
class PlanChooser {
 public:
  PlanChooser(const PlanningProblem& problem, const Estimator& estimator, const PlanOptions& options,
              const SearchLimits& limits)
      : problem_(problem),
        options_(options),
        running_(known_running_plan(options.current, problem)),
        intact_(running_ ? IntactPlan::find(*running_, problem, estimator, options) : std::nullopt),
        migration_(migration_from(running_, intact_, problem)),
        search_(problem, limits, migration_ ? &*migration_ : nullptr) {
    if (!running_) return;
    if (intact_) simulate_current(limits);
    search_.repair(running_.value(), options.space);
    if (has_feasible()) near_ = *search_.best();
  }

  // Returns true if the caller asked only for plans near the running one and one of them is feasible.
  [[nodiscard]] bool is_answered() const { return options_.scope == SearchScope::kNearCurrent && near_; }
  Search& search() { return search_; }

  // Compares the plans by their values after the pause for moving to them. Returns the best one, or the running plan if
  // it is nearly as good. Returns nothing if no plan is feasible.
  [[nodiscard]] std::optional<Choice> choice() const {
    std::optional<Choice> best;
    if (has_feasible()) best = {*search_.best(), pause_for(*search_.best())};
    if (near_ && value_of({*near_, pause_for(*near_)}) < value_of(best.value())) best = {*near_, pause_for(*near_)};
    const bool stays = stay_ && (!best || !is_worth_moving(stay_->score.value, value_of(*best)));
    return stays ? Choice{*stay_, Seconds(0), true} : best;
  }
  // See PlannedJob::limit_missed_by_current.
  [[nodiscard]] const std::optional<MissedLimit>& limit_missed_by_current() const { return limit_missed_; }
  // Returns the problem whose pools the plan of the choice refers to.
  [[nodiscard]] const PlanningProblem& problem_of(const Choice& choice) const {
    const PlanningProblem* own = choice.is_current ? intact_.value().own_problem() : nullptr;
    return own != nullptr ? *own : problem_;
  }

 private:
  [[nodiscard]] bool has_feasible() const { return search_.best() != nullptr && search_.best()->score.is_feasible(); }
  [[nodiscard]] Seconds pause_for(const PlanCandidate& next) const {
    return migration_ ? migration_->pause_for(next.plan) : Seconds(0);
  }
  [[nodiscard]] double value_of(const Choice& choice) const {
    return value_with_pause(choice.plan.score.value, choice.pause, options_.expected_lifetime);
  }
  // Sets stay_ or limit_missed_. If the running plan runs in the problem's cluster, the search knows it from then on.
  void simulate_current(const SearchLimits& limits) {
    const IntactPlan& intact = intact_.value();
    std::optional<PlanCandidate> current;
    if (intact.own_problem() == nullptr) {
      current = simulated_known(search_, intact.plan());
    } else {
      Search elsewhere(*intact.own_problem(), limits, nullptr);
      current = simulated_known(elsewhere, intact.plan());
    }
    if (!current) return;
    if (current->score.is_feasible()) {
      stay_ = std::move(current);
    } else {
      limit_missed_ = missed_limit(problem_.job.objective, current->estimate.iteration, current->estimate.cost);
    }
  }

  static std::optional<PlanCandidate> simulated_known(Search& search, const GroupedPlan& plan) {
    auto known = search.add_known_plan(plan);
    return known ? search.simulated(*std::move(known)) : std::nullopt;
  }

  const PlanningProblem& problem_;
  const PlanOptions& options_;
  std::optional<Plan> running_;       // known_running_plan()
  std::optional<IntactPlan> intact_;  // the running plan, if it still has all its GPUs
  std::optional<MigrationCost> migration_;
  Search search_;
  std::optional<PlanCandidate> stay_;        // the running plan, if it is feasible
  std::optional<MissedLimit> limit_missed_;  // by the running plan
  std::optional<PlanCandidate> near_;        // the best plan near the running one
};

// The thorough proof runs with each of these efforts in turn. Each run starts from the bound that the previous one has
// proved, so more time never gives a weaker proof.
constexpr std::array<BoundProver::Effort, 3> kThorough{
    {{.path_levels = 8, .end_levels = 24, .price_updates = 4, .halvings = 2, .solver_calls = 400},
     {.path_levels = 12, .end_levels = 48, .price_updates = 6, .halvings = 3, .solver_calls = 1000},
     {.path_levels = 24, .end_levels = 96, .price_updates = 8, .halvings = 5, .solver_calls = 4000}}};
constexpr int kMostPoolsOfQuickProof = 6;  // even the first solver calls take seconds if there are more pools
// The tables of the relaxed problem have an entry for every range of layers: with 500 layers they take seconds and a
// gigabyte. Models of more layers than this are planned from the other seeds, and only a thorough proof, for which the
// user sets the time, improves on the closed form of their bound.
constexpr int kMostLayersOfTables = 150;

double proved_throughput(const PlanningProblem& problem, double seconds, const PlanOptions& options,
                         const SearchLimits& limits) {
  BoundProver prover(problem);
  double unreachable = 1 / bound_throughput(problem);
  if (problem.pools() <= kMostPoolsOfQuickProof && problem.layers() <= kMostLayersOfTables) {
    unreachable = longest_unreachable(prover, {unreachable, seconds}, {}, [&] { return limits.is_over(); });
  }
  if (options.proof == Proof::kQuick) return 1 / unreachable;
  const Clock::time_point start = Clock::now();
  const auto is_over = [&] {
    return limits.is_over() || (options.proof_budget && Clock::now() - start >= *options.proof_budget);
  };
  for (const BoundProver::Effort& effort : kThorough) {
    unreachable = longest_unreachable(prover, {unreachable, seconds}, effort, is_over);
  }
  return 1 / unreachable;
}

std::vector<GroupTimeTable> tables_of(const PlanningProblem& problem) {
  return problem.layers() <= kMostLayersOfTables ? group_time_tables(problem) : std::vector<GroupTimeTable>();
}

// Plans the job as if all GPUs of a node were equally fast. If some are slow, a good plan is often near that plan: a
// few groups are replaced by smaller ones.
std::optional<Plan> plan_with_equal_gpus(const Estimator& estimator, const PlanningProblem& given,
                                         const PlanOptions& options, const SearchLimits& limits) {
  if (!has_slow_gpus(given.cluster) || limits.is_over()) return std::nullopt;
  PlanningProblem problem{.job = given.job, .cluster = with_equal_gpus(given.cluster)};
  if (problem.cluster == given.cluster || !prepare(problem, estimator, options)) return std::nullopt;
  Search search(problem, limits, nullptr);
  search.run(options.space, tables_of(problem));
  if (search.best() == nullptr || !search.best()->score.is_feasible()) return std::nullopt;
  return expanded(search.best()->plan, problem.job, problem.cluster);
}

// Searches with these pools only, in this order, and adds what it finds.
void search_with_pools(Search& search, std::span<const int> pools, const Estimator& estimator,
                       const PlanOptions& options) {
  const PlanningProblem& whole = search.problem();
  PlanningProblem part{.job = whole.job, .cluster = {{}, whole.cluster.accelerators}};
  for (const int pool : pools) part.cluster.pools.push_back(whole.pool(pool));
  if (!prepare(part, estimator, options)) return;
  Search of_part(part, search.limits(), nullptr);
  of_part.tell_pools_apart();
  of_part.skip_annealed(search.annealed_plans().with_pools(pools));
  of_part.run_against(search.best()->score.value, options.space, tables_of(part));
  search.add_answers_of(of_part, pools);
  search.skip_annealed(of_part.annealed_plans(), pools);
}

// The space `paper` stays as it is: it is the paper's.
void run_search(Search& search, Search* nearby, std::span<const GroupTimeTable> tables, const Estimator& estimator,
                const PlanOptions& options) {
  run_with_limits(search, options.space, tables, nearby);
  if (options.space == PlanSpace::kPaper || search.best() == nullptr) return;
  const GroupedPlan first = search.best()->plan;
  search_again(search, [&](std::span<const int> pools) { search_with_pools(search, pools, estimator, options); });
  // A plan that is as good may be on pools that the last search did not have.
  if (search.best()->plan != first) search.search_among_equals(options.space);
}

}  // namespace

Result<PlannedJob> Planner::plan(const JobSpec& job, const ClusterState& given, const PlanOptions& options,
                                 std::stop_token stop) const {
  const Clock::time_point start = Clock::now();
  const ClusterState cluster = normalized(given);
  PlanningProblem problem{.job = job, .cluster = usable_part(job, cluster)};
  if (!has_slow_gpus(problem.cluster)) problem.cluster = in_order_of_facts(std::move(problem.cluster));
  if (auto checked = check_capacity(job, cluster, problem.cluster); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  if (auto done = prepare(problem, estimator_, options); !done) return tl::unexpected(std::move(done.error()));

  const SearchLimits limits = limits_of(options, start, std::move(stop));
  PlanChooser chooser(problem, estimator_, options, limits);
  const Search& search = chooser.search();
  if (!chooser.is_answered()) {
    std::vector<GroupTimeTable> tables;
    std::unique_ptr<Search> nearby;
    run_both(
        [&] {
          const auto equal = plan_with_equal_gpus(estimator_, problem, options, limits);
          if (equal) nearby = search.search_near(*equal, options.space);
        },
        [&] { tables = tables_of(problem); });
    run_search(chooser.search(), nearby.get(), tables, estimator_, options);
  }
  const std::optional<Choice> choice = chooser.choice();
  if (!choice) return tl::unexpected(nearest_miss(problem, options, limits, search));

  const bool is_elsewhere = choice->is_current && options.current_cluster;
  const ClusterState& where = is_elsewhere ? *options.current_cluster : cluster;
  auto chosen = estimated(estimator_, chooser.problem_of(*choice), choice->plan.plan, where);
  if (!chosen) return tl::unexpected(std::move(chosen.error()));
  auto times = estimator_.schedule_times(job, where, chosen->plan);
  if (!times) return tl::unexpected(std::move(times.error()));
  PlannedJob planned{.plan = chosen->plan,
                     .schedule_times = *std::move(times),
                     .estimate = chosen->estimate,
                     .pause = choice->pause,
                     .keeps_current = choice->is_current,
                     .limit_missed_by_current = chooser.limit_missed_by_current()};
  planned.search = search.report();
  if (chooser.is_answered()) {
    planned.bound_throughput = bound_throughput(problem);
    planned.alternatives = {*chosen};
  } else {
    const double seconds = planned.estimate.iteration.value();
    run_both([&] { planned.bound_throughput = proved_throughput(problem, seconds, options, limits); },
             [&] { planned.alternatives = alternatives(estimator_, problem, cluster, search.front(), *chosen); });
  }
  planned.bound_cost = bound_cost(problem);
  planned.search.was_cut_short = limits.is_over();
  planned.search.elapsed = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  return planned;
}

}  // namespace sailor
