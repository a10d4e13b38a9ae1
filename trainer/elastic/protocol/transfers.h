// Transfers: who sends which unit of the state to whom, so that a plan's workers come to hold what it says.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/ids.h"

namespace sailor::trainer {

// Where a worker is.
struct Site {
  int node = 0;
  Zone zone;
  friend bool operator==(const Site&, const Site&) = default;
};

// 0 in the same node, then zone, region, elsewhere.
int distance(const Site& a, const Site& b);

struct TransferQuestion {
  std::vector<std::vector<int>> wanted;   // units by rank, ascending: of the new plan
  std::vector<std::vector<int>> offered;  // by rank, ascending: of those who are alive, at the step to go on from
  std::vector<Site> sites;                // by rank
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
  std::vector<std::vector<int>> unheld;  // by rank, ascending: wanted, offered by nobody: from the checkpoint
  friend bool operator==(const TransferPlan&, const TransferPlan&) = default;
};

// Every unit that a worker wants and does not offer itself arrives once: from the nearest who offers it, and of
// equally near ones from the one that sends least. Large units are dealt first, so that the load evens out. The same
// answer on every worker.
TransferPlan plan_transfers(const TransferQuestion& question);

}  // namespace sailor::trainer
