// Outlook: how soon the nodes of a job are expected to change, by the histories of its pools.
#pragma once

#include <optional>
#include <span>

#include "planner/replan/node_history.h"

namespace sailor {

struct PoolOutlook {
  NodeHistory history;
  Seconds declared_lifetime;  // of a node, where the history does not say
  int gpus_per_node = 1;
  std::optional<int> most_nodes;  // absent: unknown

  // Returns whether nodes may join.
  [[nodiscard]] bool may_grow() const { return !most_nodes || history.nodes < *most_nodes; }
};

// How often per second a plan loses nodes. `gpus` has the number of its GPUs in each pool.
double interruptions_per_second(std::span<const PoolOutlook> pools, std::span<const int> gpus);

// The expected time until such a plan loses nodes, or nodes join. It is infinite if neither is expected.
Seconds time_until_change(std::span<const PoolOutlook> pools, std::span<const int> gpus);

// NodeHistory::drops, summed over the pools.
double drops_of(std::span<const PoolOutlook> pools);

}  // namespace sailor
