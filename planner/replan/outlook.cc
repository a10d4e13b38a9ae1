#include "planner/replan/outlook.h"

namespace sailor {

double interruptions_per_second(std::span<const PoolOutlook> pools, std::span<const int> gpus) {
  double per_second = 0;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const PoolOutlook& pool = pools[i];
    const int used = (gpus[i] + pool.gpus_per_node - 1) / pool.gpus_per_node;
    per_second += pool.history.interruptions_per_second(used, pool.declared_lifetime);
  }
  return per_second;
}

Seconds time_until_change(std::span<const PoolOutlook> pools, std::span<const int> gpus) {
  double per_second = interruptions_per_second(pools, gpus);
  for (const PoolOutlook& pool : pools) {
    if (pool.may_grow()) per_second += pool.history.arrivals_per_second();
  }
  return Seconds(1 / per_second);
}

double drops_of(std::span<const PoolOutlook> pools) {
  double drops = 0;
  for (const PoolOutlook& pool : pools) drops += pool.history.drops;
  return drops;
}

}  // namespace sailor
