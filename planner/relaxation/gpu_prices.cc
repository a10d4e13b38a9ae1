#include "planner/relaxation/gpu_prices.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace sailor {

std::vector<int> gpus_of_types(const PlanningProblem& problem, std::span<const int> pools) {
  std::map<GpuClass, std::size_t> types;
  for (const Pool& pool : problem.cluster.pools) types.try_emplace(pool.key.gpu_class(), types.size());
  std::vector<int> gpus(types.size());
  for (const int pool : pools) gpus[types.at(problem.pool(pool).key.gpu_class())] += problem.pool(pool).free_gpus();
  return gpus;
}

double worth_of_gpus(std::span<const double> prices, std::span<const int> gpus, int most_gpus) {
  std::vector<std::pair<double, int>> types;
  types.reserve(gpus.size());
  for (std::size_t type = 0; type < gpus.size(); ++type) types.emplace_back(prices[type], gpus[type]);
  std::ranges::sort(types, std::greater<>());
  double worth = 0;
  for (const auto& [price, available] : types) {
    const int counted = std::min(available, most_gpus);
    worth += price * counted;
    most_gpus -= counted;
  }
  return worth;
}

GpuPrices::GpuPrices(std::vector<int> gpus, int most_gpus) : gpus_(std::move(gpus)), most_gpus_(most_gpus) {
  prices_.assign(gpus_.size(), 1);
  normalize();
}

// Scales the prices so that the most expensive GPUs that a plan may use are worth 1 together.
void GpuPrices::normalize() {
  const double worth = worth_of_gpus(prices_, gpus_, most_gpus_);
  for (double& price : prices_) price /= worth;
}

std::vector<double> GpuPrices::of(std::span<const GroupKind> kinds) const {
  std::vector<double> prices;
  prices.reserve(kinds.size());
  for (const GroupKind& kind : kinds)
    prices.push_back(prices_[static_cast<std::size_t>(kind.type)] * kind.tensor_parallel);
  return prices;
}

bool GpuPrices::adapt(const CheapestSplit& split, std::span<const GroupKind> kinds, double step) {
  std::vector<double> used(gpus_.size());
  double sum = 0;
  for (const StageSegment& segment : split.segments) {
    const GroupKind& group = kinds[static_cast<std::size_t>(segment.kind)];
    used[static_cast<std::size_t>(group.type)] += segment.groups * group.tensor_parallel;
    sum += segment.groups * group.tensor_parallel;
  }
  bool is_too_much = sum > most_gpus_;
  for (std::size_t type = 0; type < gpus_.size(); ++type) {
    is_too_much = is_too_much || used[type] > gpus_[type];
    prices_[type] *= std::exp(step * std::clamp(used[type] / std::max(1, gpus_[type]) - 1, -1.0, 1.0));
  }
  normalize();
  return is_too_much;
}

}  // namespace sailor
