// PeerReplicas: which worker keeps a replica of which slices for a peer, so that each slice is on two nodes. A pure
// function without tensors.
#pragma once

#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/state/transfer_units.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// Slices that only the workers of one node have, and the worker on another node that keeps a replica of them.
struct PeerReplica {
  int layer_state = 0;
  std::vector<Slice> slices;
  std::int64_t elements = 0;
  int owner = 0;          // a rank that updates the slices
  int backup_holder = 0;  // a rank on another node; it applies the same updates
  friend bool operator==(const PeerReplica&, const PeerReplica&) = default;
};

// Plans replicas of all slices that need one, in the same order on all workers. The result is empty if the job does not
// ask for replicas or has only one node. All workers keep about the same amount: the next slices, the largest first, go
// to a worker that has less than the average, preferably in another zone of the same region, else in the same zone,
// else in another region.
std::vector<PeerReplica> plan_peer_replicas(const Assignment& assignment, const Roster& roster);

// The slices of a rank in this generation: those that its role updates, and the peer replicas that it keeps.
WorkerSlices worker_slices(const Roster& roster, const std::vector<PeerReplica>& peer_replicas, int rank);

}  // namespace sailor::trainer
