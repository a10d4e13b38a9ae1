// Transfers: decides which worker sends which transfer units to which other worker, so that all workers of the new plan
// get their state.
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

// Returns 0 on the same node, 1 in the same zone, 2 in the same region, 3 elsewhere.
int distance(const WorkerLocation& a, const WorkerLocation& b);

// The input of plan_transfers(). Units are given by their ids (transfer_units.h).
struct TransferQuestion {
  std::vector<std::vector<int>> wanted;   // by rank: the units that the rank has in the new plan, ascending
  std::vector<std::vector<int>> offered;  // by rank: the units that the rank can send, ascending
  std::vector<WorkerLocation> locations;  // indexed by rank
  std::vector<std::int64_t> bytes;        // indexed by unit
};

struct UnitMove {
  int unit = 0;
  int from = 0;  // rank
  int to = 0;    // rank
  friend bool operator==(const UnitMove&, const UnitMove&) = default;
};

struct TransferPlan {
  std::vector<UnitMove> moves;
  // By rank: wanted units that no worker offers, ascending. At a resume point there are none, because the workers
  // together offer all units.
  std::vector<std::vector<int>> unheld;
  friend bool operator==(const TransferPlan&, const TransferPlan&) = default;
};

// Each worker receives each unit that it wants and does not have once. The nearest worker that offers the unit sends
// it. If several are equally near, the one that has the fewest bytes to send so far does. Large units are assigned
// first to balance the load. The result is the same on every worker.
TransferPlan plan_transfers(const TransferQuestion& question);

}  // namespace sailor::trainer
