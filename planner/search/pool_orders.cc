#include "planner/search/pool_orders.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "core/model/sort_unique.h"

namespace sailor {
namespace {

constexpr std::size_t kPermutedRegions = 3;  // of more regions, only orders by size are tried: n! is too many

// Returns the seconds of the whole model on one GPU with the smallest microbatch. They serve only to rank the types.
std::vector<double> pool_slowness(const PlanningProblem& problem, const Techniques& techniques) {
  std::vector<double> slowness;
  for (int pool = 0; pool < problem.pools(); ++pool) {
    const int size = problem.job.training.microbatch_sizes.front();
    slowness.push_back(problem.pass(pool, {size, 1}, {0, problem.layers()}, techniques));
  }
  return slowness;
}

std::vector<std::vector<int>> accelerators_by_speed(const PlanningProblem& problem,
                                                    const std::vector<double>& slowness) {
  std::map<GpuClass, std::vector<int>> pools;
  for (int pool = 0; pool < problem.pools(); ++pool) pools[problem.pool(pool).key.gpu_class()].push_back(pool);
  std::vector<std::vector<int>> types;
  types.reserve(pools.size());
  for (auto& [gpus, members] : pools) types.push_back(std::move(members));
  std::ranges::stable_sort(types, {}, [&](const auto& type) { return slowness[static_cast<std::size_t>(type[0])]; });
  return types;
}

// Returns the sets of pools to try: those of the fastest N types for every N, those of each type alone, and each pool
// alone if there are few.
std::vector<std::set<int>> pool_choices(const PlanningProblem& problem, const std::vector<double>& slowness) {
  std::vector<std::set<int>> choices;
  std::set<int> fastest;
  for (const auto& type : accelerators_by_speed(problem, slowness)) {
    fastest.insert(type.begin(), type.end());
    choices.push_back(fastest);
    choices.emplace_back(type.begin(), type.end());
  }
  for (int pool = 0; pool < problem.pools() && problem.pools() <= 8; ++pool) choices.push_back({pool});
  sort_unique(choices);
  return choices;
}

std::vector<RegionPools> pools_by_region(const PlanningProblem& problem, const std::set<int>& choice,
                                         const std::vector<double>& slowness, bool fastest_first) {
  std::map<std::string_view, RegionPools> pools_of_region;
  for (const int pool : choice) pools_of_region[problem.pool(pool).region.str()].push_back(pool);
  std::vector<RegionPools> regions;
  for (auto& [region, pools] : pools_of_region) {
    // Of equally fast pools, the cheapest comes first.
    std::ranges::stable_sort(pools, {}, [&](int pool) {
      const double seconds = slowness[static_cast<std::size_t>(pool)];
      return std::pair(fastest_first ? seconds : -seconds, problem.pool(pool).price_per_gpu);
    });
    regions.push_back(std::move(pools));
  }
  return regions;
}

int gpus_of(const RegionPools& pools, const PlanningProblem& problem) {
  int gpus = 0;
  for (const int pool : pools) gpus += problem.pool(pool).free_gpus();
  return gpus;
}

using RegionKind = std::vector<std::tuple<GpuClass, double, std::vector<std::pair<int, int>>>>;

// The GPU types, prices and sizes of the pools of a region. Regions for which these are equal differ only in their
// location, so only one of them is tried alone.
RegionKind kind_of(const RegionPools& pools, const PlanningProblem& problem) {
  RegionKind kind;
  for (const int index : pools) {
    const Pool& pool = problem.pool(index);
    auto& [gpus, price, nodes] = kind.emplace_back();
    gpus = pool.key.gpu_class();
    price = pool.price_per_gpu.value();
    for (const NodeGroup& group : pool.nodes) nodes.emplace_back(group.free_gpus, group.count);
  }
  return kind;
}

void add_region_orders(std::vector<RegionPools> regions, const PlanningProblem& problem,
                       std::vector<PoolOrder>& orders) {
  std::set<RegionKind> known;
  for (const RegionPools& pools : regions) {
    if (known.insert(kind_of(pools, problem)).second) orders.push_back({pools});
  }
  if (regions.size() == 1) return;
  if (regions.size() <= kPermutedRegions) {
    std::ranges::sort(regions);
    do {
      orders.push_back(regions);
    } while (std::ranges::next_permutation(regions).found);
    return;
  }
  std::ranges::stable_sort(regions, std::greater<>(),
                           [&](const RegionPools& pools) { return gpus_of(pools, problem); });
  orders.push_back(regions);
  std::ranges::reverse(regions);
  orders.push_back(regions);
}

}  // namespace

std::vector<PoolOrder> pool_orders(const PlanningProblem& problem, const Techniques& techniques) {
  const std::vector<double> slowness = pool_slowness(problem, techniques);
  std::vector<PoolOrder> orders;
  for (const std::set<int>& choice : pool_choices(problem, slowness)) {
    add_region_orders(pools_by_region(problem, choice, slowness, true), problem, orders);
    add_region_orders(pools_by_region(problem, choice, slowness, false), problem, orders);
  }
  sort_unique(orders);
  return orders;
}

}  // namespace sailor
