// Peer replicas: decides which worker keeps a replica of which slices for a peer, so that each slice is on two nodes.
// The plan is a pure function without tensors.
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

// Plans a replica for all slices that only one node has. The result is the same on all workers, in the same order. It
// is empty if the job does not ask for replicas or has only one node. Large slices are planned first. Their backup
// holder is a worker on another node that keeps less than the average so far, so that all workers keep about the same
// amount. The function prefers another zone of the same region, then the same zone, then another region.
std::vector<PeerReplica> plan_peer_replicas(const Assignment& assignment, const Roster& roster);

// Returns the slices of a rank in this generation: those that its role updates, and the peer replicas that it keeps.
WorkerSlices worker_slices(const Roster& roster, const std::vector<PeerReplica>& peer_replicas, int rank);

}  // namespace sailor::trainer
