#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "planner/bound.h"

namespace sailor {
namespace {

constexpr double kFirstStep = 0.7;  // of prices, in logarithms
constexpr double kSmaller = 0.75;   // each step to the one before
constexpr double kPrecision = 0.005;

int one_node(const World& world, int pool) { return world.pool(pool).nodes.front().free_gpus; }

// Of pools that are alike for a proof, one.
std::vector<int> distinct_pools(const World& world) {
  std::set<std::tuple<std::string_view, int, int>> known;
  std::vector<int> pools;
  for (int index = 0; index < world.pools(); ++index) {
    const Pool& pool = world.pool(index);
    const bool is_new = known.emplace(pool.key.accelerator.str(), pool.free_gpus(), one_node(world, index)).second;
    if (is_new) pools.push_back(index);
  }
  return pools;
}

}  // namespace

Refuter::Refuter(const World& world, std::span<const KindTable> tables) {
  const std::vector<int> gpus = gpus_of_types(world, all_pools(world));
  for (const KindTable& table : tables) {
    cases_.push_back({&table, GpuPrices(gpus, world.most_gpus()), false});
    for (const int pool : distinct_pools(world)) {
      std::vector<int> fewer = gpus;
      fewer[static_cast<std::size_t>(table.type_of(pool))] -= world.pool(pool).free_gpus() - one_node(world, pool);
      cases_.push_back({&table, GpuPrices(std::move(fewer), world.most_gpus()), true});
    }
  }
}

// Any prices prove it. Those that did for the last range are the first to be tried.
std::optional<CheapestSplit> Refuter::unrefuted(Case& one, const TimeLimits& limits, const Effort& effort) {
  StageProgram program(*one.table, effort.levels);
  double step = kFirstStep;
  std::optional<CheapestSplit> split;
  for (int tried = 0; tried < effort.tries; ++tried, step *= kSmaller) {
    ++programs_;
    split = program.solve(limits, one.prices.of(one.table->kinds()), 1);
    if (!split || !one.prices.adapt(*split, one.table->kinds(), step)) break;
  }
  return split;
}

// A plan whose slack is in the range has passes of at most `seconds` - slack.least, and no stage that finishes more
// than slack.most after its last backward pass, but for what earlier stages hide.
bool Refuter::refutes(Case& one, double seconds, Slack slack, const Effort& effort, int depth) {
  if (!unrefuted(one, {seconds - slack.least, slack.most, one.inside_nodes}, effort)) return true;
  if (depth == 0) return false;
  const double middle = (slack.least + slack.most) / 2;
  return refutes(one, seconds, {slack.least, middle}, effort, depth - 1) &&
         refutes(one, seconds, {middle, slack.most}, effort, depth - 1);
}

bool Refuter::refutes(double seconds, const Effort& effort) {
  return std::ranges::all_of(cases_, [&](Case& one) {
    return refutes(one, seconds, {0, seconds}, effort, effort.depth);
  });
}

double proved_seconds(Refuter& refuter, SecondsRange known, const Refuter::Effort& effort,
                      const std::function<bool()>& is_over) {
  while (known.refuted < known.reached * (1 - kPrecision) && !is_over() && refuter.programs() < effort.programs) {
    const double middle = (known.refuted + known.reached) / 2;
    if (refuter.refutes(middle, effort)) {
      known.refuted = middle;
    } else {
      known.reached = middle;
    }
  }
  return known.refuted;
}

}  // namespace sailor
