#include "planner/proof/bound_prover.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace sailor {
namespace {

constexpr double kPrecision = 0.0025;  // the bisection stops if the range is smaller than this part of its upper end

// Returns one pool of each set of pools that do not differ for a proof.
std::vector<int> distinct_pools(const PlanningProblem& problem, const RegionalBoundTable& table) {
  std::set<std::tuple<int, int, int>> known;
  std::vector<int> pools;
  for (int index = 0; index < problem.pools(); ++index) {
    const Pool& pool = problem.pool(index);
    if (known.emplace(table.type_of(index), pool.free_gpus(), pool.gpus_of_largest_node()).second) {
      pools.push_back(index);
    }
  }
  return pools;
}

}  // namespace

BoundProver::BoundProver(const PlanningProblem& problem) {
  for (const int size : problem.job.training.microbatch_sizes) {
    const int shards = problem.may_shard_optimizer() ? problem.job.training.global_batch_size / size : 1;
    for (const bool recomputes : {false, true}) {
      if (!problem.allows_checkpointing(recomputes)) continue;
      const RegionalBoundTable* like = tables_.empty() ? nullptr : &tables_.front();
      tables_.emplace_back(problem, GroupTimeTable::Setting{size, recomputes, shards}, like);
    }
  }
  for (RegionalBoundTable& table : tables_) {
    const std::vector<int>& gpus = table.gpus();
    cases_.push_back({&table, GpuPrices(gpus, problem.most_gpus()), false});
    for (const int pool : distinct_pools(problem, table)) {
      std::vector<int> fewer = gpus;
      fewer[static_cast<std::size_t>(table.type_of(pool))] -=
          problem.pool(pool).free_gpus() - problem.pool(pool).gpus_of_largest_node();
      cases_.push_back({&table, GpuPrices(std::move(fewer), problem.most_gpus()), true});
    }
  }
}

// Any prices give a valid proof. The function first tries the prices that worked for the last class.
bool BoundProver::proves_unreachable(Case& one, const PlanClass& plans, const Trial& trial, int halvings) {
  SplitBoundSolver solver(*one.table, {plans.least_path > 0 ? trial.effort.path_levels : 1, trial.effort.end_levels});
  double step = kFirstPriceStep;
  bool can_adapt = true;
  for (int tried = 0; tried < trial.effort.price_updates && can_adapt && !trial.is_over();
       ++tried, step *= kPriceStepFactor) {
    ++solver_calls_;
    const auto split = solver.solve(plans, one.prices.of(one.table->kinds()), 1);
    if (!split) return true;
    can_adapt = one.prices.adapt(*split, one.table->kinds(), step);
  }
  if (halvings == 0 || trial.is_over()) return false;
  const double middle = (plans.least_path + plans.most_path) / 2;
  PlanClass shorter = plans;
  PlanClass longer = plans;
  shorter.most_path = middle;
  longer.least_path = middle;
  return proves_unreachable(one, longer, trial, halvings - 1) && proves_unreachable(one, shorter, trial, halvings - 1);
}

bool BoundProver::proves_unreachable(double seconds, const Effort& effort, const IsOver& is_over) {
  return std::ranges::all_of(cases_, [&](Case& one) {
    return proves_unreachable(one, {seconds, 0, seconds, one.inside_nodes}, {effort, is_over}, effort.halvings);
  });
}

double longest_unreachable(BoundProver& prover, SecondsRange known, const BoundProver::Effort& effort,
                           const BoundProver::IsOver& is_over) {
  const long most_calls = prover.solver_calls() + effort.solver_calls;
  while (known.unreachable < known.reached * (1 - kPrecision) && !is_over() && prover.solver_calls() < most_calls) {
    const double middle = (known.unreachable + known.reached) / 2;
    if (prover.proves_unreachable(middle, effort, is_over)) {
      known.unreachable = middle;
    } else {
      known.reached = middle;
    }
  }
  return known.unreachable;
}

}  // namespace sailor
