#include "planner/replay/trace.h"

#include <algorithm>

namespace sailor {

Pool limited(Pool pool, Trace::Unit unit, int amount) {
  std::vector<NodeGroup> left;
  for (const NodeGroup& group : pool.nodes) {
    const int whole = unit == Trace::Unit::kNodes ? amount : amount / group.free_gpus;
    const int taken = std::min(group.count, whole);
    if (taken > 0) left.push_back({group.free_gpus, taken});
    amount -= unit == Trace::Unit::kNodes ? taken : taken * group.free_gpus;
    const bool is_part_left = unit == Trace::Unit::kGpus && taken < group.count && amount > 0 && !pool.whole_nodes;
    if (is_part_left) left.push_back({amount, 1});
    if (taken < group.count) break;
  }
  pool.nodes = std::move(left);
  return pool;
}

}  // namespace sailor
