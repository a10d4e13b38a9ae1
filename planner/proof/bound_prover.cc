#include <algorithm>
#include <set>
#include <tuple>

#include "planner/proof/bound.h"

namespace sailor {
namespace {

constexpr double kFirstStep = 0.7;  // of prices, in logarithms
constexpr double kSmaller = 0.75;   // each step to the one before
constexpr double kPrecision = 0.0025;

int one_node(const World& world, int pool) { return world.pool(pool).nodes.front().free_gpus; }

// Of pools that are alike for a proof, one.
std::vector<int> distinct_pools(const World& world, const ProofTable& table) {
  std::set<std::tuple<int, int, int>> known;
  std::vector<int> pools;
  for (int pool = 0; pool < world.pools(); ++pool) {
    if (known.emplace(table.type_of(pool), world.pool(pool).free_gpus(), one_node(world, pool)).second) {
      pools.push_back(pool);
    }
  }
  return pools;
}

}  // namespace

Refuter::Refuter(const World& world) {
  for (const int size : world.job.training.microbatch_sizes) {
    const int shards = world.may_shard_optimizer ? world.job.training.global_batch_size / size : 1;
    for (const bool recomputes : {false, true}) {
      if (!world.allows_checkpointing(recomputes)) continue;
      const ProofTable* like = tables_.empty() ? nullptr : &tables_.front();
      tables_.emplace_back(world, KindTable::Setting{size, recomputes, shards}, like);
    }
  }
  for (ProofTable& table : tables_) {
    const std::vector<int>& gpus = table.gpus();
    cases_.push_back({&table, GpuPrices(gpus, world.most_gpus()), false});
    for (const int pool : distinct_pools(world, table)) {
      std::vector<int> fewer = gpus;
      fewer[static_cast<std::size_t>(table.type_of(pool))] -= world.pool(pool).free_gpus() - one_node(world, pool);
      cases_.push_back({&table, GpuPrices(std::move(fewer), world.most_gpus()), true});
    }
  }
}

// Any prices prove it. Those that did for the last class are the first to be tried.
bool Refuter::refutes(Case& one, const PlanClass& plans, const Trial& trial, int depth) {
  ProofProgram program(*one.table, {plans.least_way > 0 ? trial.effort.ways : 1, trial.effort.ends});
  double step = kFirstStep;
  bool can_adapt = true;
  for (int tried = 0; tried < trial.effort.tries && can_adapt && !trial.is_over(); ++tried, step *= kSmaller) {
    ++programs_;
    const auto split = program.solve(plans, one.prices.of(one.table->kinds()), 1);
    if (!split) return true;
    can_adapt = one.prices.adapt(*split, one.table->kinds(), step);
  }
  if (depth == 0 || trial.is_over()) return false;
  const double middle = (plans.least_way + plans.most_way) / 2;
  PlanClass shorter = plans;
  PlanClass longer = plans;
  shorter.most_way = middle;
  longer.least_way = middle;
  return refutes(one, longer, trial, depth - 1) && refutes(one, shorter, trial, depth - 1);
}

bool Refuter::refutes(double seconds, const Effort& effort, const IsOver& is_over) {
  return std::ranges::all_of(cases_, [&](Case& one) {
    return refutes(one, {seconds, 0, seconds, one.inside_nodes}, {effort, is_over}, effort.depth);
  });
}

double proved_seconds(Refuter& refuter, SecondsRange known, const Refuter::Effort& effort,
                      const Refuter::IsOver& is_over) {
  const long most_programs = refuter.programs() + effort.programs;
  while (known.refuted < known.reached * (1 - kPrecision) && !is_over() && refuter.programs() < most_programs) {
    const double middle = (known.refuted + known.reached) / 2;
    if (refuter.refutes(middle, effort, is_over)) {
      known.refuted = middle;
    } else {
      known.reached = middle;
    }
  }
  return known.refuted;
}

}  // namespace sailor
