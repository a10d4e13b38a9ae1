// Transfers: which worker sends which transfer units to which worker, so that all workers of a plan get their state.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/ids.h"

namespace sailor::trainer {

// The node and zone of a worker.
struct WorkerLocation {
  int node = 0;
  Zone zone;
  friend bool operator==(const WorkerLocation&, const WorkerLocation&) = default;
};

// 0 on the same node, 1 in the same zone, 2 in the same region, 3 elsewhere.
int distance(const WorkerLocation& a, const WorkerLocation& b);

struct TransferQuestion {
  std::vector<std::vector<int>> wanted;  // units by rank, ascending, in the new plan
  // By rank, ascending: units of the workers that are alive, at the resume point.
  std::vector<std::vector<int>> offered;
  std::vector<WorkerLocation> locations;  // by rank
  std::vector<std::int64_t> bytes;        // by unit
};

struct UnitMove {
  int unit = 0;
  int from = 0;  // ranks
  int to = 0;
  friend bool operator==(const UnitMove&, const UnitMove&) = default;
};

struct TransferPlan {
  std::vector<UnitMove> moves;
  // By rank, ascending: wanted units that no worker offers; they come from a checkpoint.
  std::vector<std::vector<int>> unheld;
  friend bool operator==(const TransferPlan&, const TransferPlan&) = default;
};

// Each unit that a worker wants and does not offer itself arrives once: from the nearest worker that offers it, and
// among equally near ones from the worker that sends least so far. Large units are assigned first to balance the load.
// The result is the same on every worker.
TransferPlan plan_transfers(const TransferQuestion& question);

}  // namespace sailor::trainer
