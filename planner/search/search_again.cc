#include "planner/search/search_again.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

namespace sailor {
namespace {

using Pools = std::vector<int>;

constexpr int kMostParts = 3;
// Up to how many GPUs the pools are searched in another order, in general and if some pools have the same GPU type.
// Such pools can replace each other in every plan, so order matters more.
constexpr int kMostGpusOfOrder = 64;
constexpr int kMostGpusOfOrderOfEquals = 320;

Pools all_pools(const PlanningProblem& problem) {
  Pools pools(problem.cluster.pools.size());
  std::iota(pools.begin(), pools.end(), 0);
  return pools;
}

Pools used_pools(const Search& search) {
  const std::vector<int> gpus = gpus_of_pools(search.best()->plan, search.problem().cluster.pools.size());
  Pools used = all_pools(search.problem());
  std::erase_if(used, [&](int pool) { return gpus[static_cast<std::size_t>(pool)] == 0; });
  return used;
}

bool has_pools_of_equal_type(const PlanningProblem& problem) {
  std::set<GpuClass> types;
  return std::ranges::any_of(problem.cluster.pools,
                             [&](const Pool& pool) { return !types.insert(pool.key.gpu_class()).second; });
}

bool is_worth_another_order(const Search& search) {
  const PlanningProblem& problem = search.problem();
  if (problem.most_gpus() <= kMostGpusOfOrder) return true;
  // A plan on a single pool is as good in every order.
  return problem.most_gpus() <= kMostGpusOfOrderOfEquals && has_pools_of_equal_type(problem) &&
         used_pools(search).size() > 1;
}

// Returns the most GPUs that a plan on these pools may use.
int most_gpus_of(const Pools& pools, const PlanningProblem& problem) {
  int gpus = 0;
  for (const int pool : pools) gpus += problem.pool(pool).free_gpus();
  return std::min(gpus, problem.most_gpus());
}

// Returns how many times per second the GPUs of a pool could process the model, if memory did not matter.
double speed_of_pool(int pool, const PlanningProblem& problem) {
  const int size = problem.job.training.microbatch_sizes.front();
  const LayerRange all{0, problem.layers()};
  return problem.pool(pool).free_gpus() / problem.pass(pool, {size, 1}, all, problem.allowed_techniques().front());
}

// Returns the pools that the best plan uses and, of the others, as many as a wide search allows, the fastest first.
Pools with_others(Pools used, const PlanningProblem& problem) {
  Pools others = all_pools(problem);
  std::erase_if(others, [&](int pool) { return std::ranges::find(used, pool) != used.end(); });
  std::ranges::stable_sort(others, std::greater<>(), [&](int pool) { return speed_of_pool(pool, problem); });
  int gpus = most_gpus_of(used, problem);
  for (const int pool : others) {
    if (gpus + problem.pool(pool).free_gpus() > kGpusOfWide) continue;
    gpus += problem.pool(pool).free_gpus();
    used.push_back(pool);
  }
  std::ranges::sort(used);
  return used;
}

}  // namespace

// Parts of the problem are searched only if their search is wide (breadth.h). A narrow search of a part would take as
// long as that of the whole and rarely find a better plan.
void search_again(const Search& search, const SearchWithPools& search_with_pools) {
  const PlanningProblem& problem = search.problem();
  const auto is_done = [&] {
    return search.limits().is_over() || search.best() == nullptr || !search.best()->score.is_feasible();
  };
  if (problem.pools() == 1 || problem.most_gpus() <= kFewGpus || has_slow_gpus(problem.cluster) || is_done()) return;
  std::set<Pools> searched{all_pools(problem)};
  if (is_worth_another_order(search)) {
    Pools reverse = all_pools(problem);
    std::ranges::reverse(reverse);
    search_with_pools(reverse);
  }
  for (int parts = 0; parts < kMostParts && !is_done(); ++parts) {
    Pools pools = used_pools(search);
    if (most_gpus_of(pools, problem) > kGpusOfWide) return;
    if (parts == 0 && problem.most_gpus() > kGpusOfWide) pools = with_others(std::move(pools), problem);
    if (searched.insert(pools).second) search_with_pools(pools);
  }
}

}  // namespace sailor
