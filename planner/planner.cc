#include "planner/planner.h"

#include <algorithm>

#include "planner/bound.h"
#include "planner/infeasible.h"
#include "planner/model/tensor_parallel.h"
#include "planner/search.h"
#include "planner/world.h"

namespace sailor {
namespace {

constexpr std::size_t kAlternatives = 12;

using Clock = std::chrono::steady_clock;

SearchLimits limits_of(const PlanOptions& options, Clock::time_point start, std::stop_token stop) {
  SearchLimits limits{std::move(stop), std::nullopt};
  if (options.budget) limits.deadline = start + std::chrono::duration_cast<Clock::duration>(*options.budget);
  return limits;
}

Result<PricedPlan> priced(const Estimator& estimator, const World& world, const GroupedPlan& grouped,
                          const ClusterState& cluster) {
  Plan plan = expanded(grouped, world.job, world.cluster);
  auto estimate = estimator.estimate(world.job, cluster, plan);
  if (!estimate) return tl::unexpected(std::move(estimate.error()));
  return PricedPlan{std::move(plan), *std::move(estimate)};
}

// Once more with groups that are too large for their GPUs, to find what comes nearest.
Error nearest_miss(World& world, const PlanOptions& options, const SearchLimits& limits) {
  world.is_memory_ignored = true;
  Search search(world, limits);
  search.run(options.space, {});
  return explain_infeasible(world, search.best());
}

// The running plan as a candidate, if it is still one that this planner could have chosen.
std::optional<Contender> running(const PlanOptions& options, const World& world, Search& search) {
  if (!options.current || !check_well_formed(*options.current, world.job)) return std::nullopt;
  const auto plan = grouped(*options.current, world.cluster);
  if (!plan) return std::nullopt;
  const auto& sizes = world.job.training.microbatch_sizes;
  bool is_known = std::ranges::find(sizes, plan->microbatch_size) != sizes.end();
  for (const GroupedStage& stage : plan->stages) {
    for (const ReplicaGroup& group : stage.groups) {
      is_known = is_known && std::ranges::find(world.degrees, group.tensor_parallel) != world.degrees.end();
    }
  }
  return is_known ? search.offer(*plan) : std::nullopt;
}

// The best plan, or the running one if that is nearly as good; null if nothing is feasible.
const Contender* chosen_of(const Search& search, const std::optional<Contender>& current) {
  const Contender* best = search.best();
  if (best == nullptr || !best->score.is_feasible()) return nullptr;
  const bool is_worth_moving = !current || best->score.value < current->score.value * (1 - kWorthwhileGain);
  return is_worth_moving ? best : &*current;
}

constexpr Refuter::Effort kThorough{.levels = 256, .tries = 10, .depth = 6, .programs = 4000};

double proved_throughput(const World& world, std::span<const KindTable> tables, double seconds,
                         const Refuter::Effort& effort, const SearchLimits& limits) {
  Refuter refuter(world, tables);
  const double refuted = 1 / bound_throughput(world);
  return 1 / proved_seconds(refuter, {refuted, seconds}, effort, [&] { return limits.is_over(); });
}

}  // namespace

Result<PlannedJob> Planner::plan(const JobSpec& job, const ClusterState& given, const PlanOptions& options,
                                 std::stop_token stop) const {
  const Clock::time_point start = Clock::now();
  const ClusterState cluster = normalized(given);
  World world{.job = job, .cluster = usable_part(job, cluster), .degrees = {}, .costs = {}};
  if (auto checked = check_capacity(job, cluster, world.cluster); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  world.degrees = usable_degrees(world.cluster, std::min(options.max_tensor_parallel, max_tensor_parallel(job.model)));
  auto costs = estimator_.prepare(job, world.cluster, world.degrees);
  if (!costs) return tl::unexpected(std::move(costs.error()));
  world.costs = *std::move(costs);

  const SearchLimits limits = limits_of(options, start, std::move(stop));
  Search search(world, limits);
  const std::optional<Contender> current = running(options, world, search);
  const std::vector<KindTable> tables = kind_tables(world);
  search.run(options.space, tables);
  const Contender* best = chosen_of(search, current);
  if (best == nullptr) return tl::unexpected(nearest_miss(world, options, limits));

  auto chosen = priced(estimator_, world, best->plan, cluster);
  if (!chosen) return tl::unexpected(std::move(chosen.error()));
  const Refuter::Effort effort = options.proof == Proof::kThorough ? kThorough : Refuter::Effort{};
  const double chosen_seconds = chosen->estimate.iteration.value();
  PlannedJob planned{.plan = std::move(chosen->plan),
                     .estimate = std::move(chosen->estimate),
                     .bound_throughput = proved_throughput(world, tables, chosen_seconds, effort, limits),
                     .search = search.report(),
                     .alternatives = {}};
  for (const ParetoFront::Entry& entry : search.front().chosen(kAlternatives)) {
    if (auto other = priced(estimator_, world, entry.plan, cluster)) planned.alternatives.push_back(*std::move(other));
  }
  planned.search.was_cut_short = limits.is_over();
  planned.search.elapsed = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  return planned;
}

}  // namespace sailor
