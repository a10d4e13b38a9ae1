// Copies: who keeps a copy of which slice of the state, so that no node alone holds one. Pure, without tensors.
#pragma once

#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/state/transfer_units.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// A slice of the state that the workers of one node alone hold.
struct StateCopy {
  int layer_state = 0;
  std::vector<Slice> slices;
  std::int64_t elements = 0;
  int holder = 0;  // a rank that updates it
  int keeper = 0;  // a rank of another node that follows its updates
  friend bool operator==(const StateCopy&, const StateCopy&) = default;
};

// Of all slices that need one, in one order on all workers; none where the job asks for none or has one node only.
// Everybody keeps about as much: the next slice, the largest first, goes to a worker with less than an even share, in
// another zone of the region if there is one, else in the zone, else in another region.
std::vector<StateCopy> plan_copies(const Assignment& assignment, const Roster& roster);

// What the rank has in this generation: what its role updates, and the copies that it keeps.
WorkerSlices worker_slices(const Roster& roster, const std::vector<StateCopy>& copies, int rank);

}  // namespace sailor::trainer
