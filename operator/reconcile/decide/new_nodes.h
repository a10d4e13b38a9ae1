// The new nodes that pods of the newest generation wait for: an autoscaler has yet to make them. Pods ask for them:
// each waits unscheduled until a node of its pool comes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// The pods of a job that wait for new nodes of one pool.
struct NodeWait {
  PoolKey pool;
  int pods = 0;
  std::string pod;           // the name of one of them
  Time since;                // when the first of them was created
  Time over_at;              // from then on no node is expected any more, unless the autoscaler says something else
  std::string said = {};     // what the autoscaler has said last; empty: nothing
  bool is_too_many = false;  // the pool may not have so many nodes; see pools_without_room()
};

// Returns the pools that may not have as many nodes as pods of the placement wait for: somebody has lowered maxNodes of
// the GpuPool, or deleted it. No autoscaler needs to say so. A node counts only if a pod runs on it, because one that
// has just been made may be for a pod that waits.
std::set<PoolKey> pools_without_room(const Observation& observation, const Placement& placement);

// Returns the waits of the slots in ascending order of pools.
std::vector<NodeWait> find_node_waits(const Observation& observation, const Placement& placement);

// "Pod p waits for a new node of GpuPool g (z/nvidia-l4/spot) since 2026-01-01T00:00:00Z. The autoscaler says: ..."
std::string text_of(const Observation& observation, const NodeWait& wait);

// Returns whether the pod of the slot waits for a new node.
bool waits_for_new_node(const Observation& observation, const Slot& slot);

// Returns from when on no node is expected for the pod; nothing: it does not wait for a new node. `without_room` are
// the pools_without_room().
std::optional<Time> gives_up_at(const Observation& observation, const Slot& slot,
                                const std::set<PoolKey>& without_room);

// Returns from when on the job may begin to use the new nodes that have come, because the others are late; nothing:
// none has come.
std::optional<Time> others_are_late_at(const Observation& observation, const GenerationRecord& record);

// The policy that notes in the record which pools have given no node (PoolRefusal), once a wait is over. Policies after
// it find these pools in Observation::cluster and plan without them.
std::optional<PolicyResult> note_pool_refusals(const Observation& observation);

// Requests further decisions for when a wait is over, for when others are late, and for when a pool may be asked again.
PolicyResult requeue_for_new_nodes(const Observation& observation);

}  // namespace sailor
