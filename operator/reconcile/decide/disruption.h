// Finds disruptions: reasons why a generation cannot continue, or should not.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/model/observation.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

struct Disruption {
  enum class Kind {
    kLost,            // a pod or node is gone or unresponsive, so the generation cannot continue
    kTerminating,     // a pod or node is about to be terminated, but still trains
    kConnectionLost,  // a connection broke although all pods answer
  };
  Kind kind = Kind::kLost;
  Reason reason = Reason::kNodeLost;
  std::string message = {};                               // a sentence without a full stop
  std::set<std::string> pods = {};                        // the names of the pods that are lost, or about to be
  std::vector<QuarantinedNode> nodes_to_quarantine = {};  // the nodes to avoid for a while
  std::set<std::string> unreachable_pods = {};            // the UIDs of pods that answer the operator but not all peers
};

// Returns the gravest disruption of a generation, or nothing if the generation can continue. The generation is the
// newest one, or the one that trains on while the newest one is prepared. If it is not committed, the result is that of
// find_startup_disruption(). A failure of the trainer itself is not a disruption (see trainer_failures.h).
std::optional<Disruption> find_disruption(const Observation& observation, const Generation& generation);

// Returns what prevents the pods of the newest generation's placement from starting it: a pod has not started in time,
// or its node is gone or about to be terminated. Returns nothing if all pods are ready or may still become ready.
std::optional<Disruption> find_startup_disruption(const Observation& observation);

// Requests another decision once a pod of the newest generation has not started in time.
PolicyResult requeue_at_start_limit(const Observation& observation);

// In an urgent change, the problem of a pod that leaves counts only if others still wait for the pod after some time.
// Requests another decision at that time.
PolicyResult requeue_at_rendezvous_limit(const Observation& observation);

// Returns the first time at which a pod of the generation that was given notice may be gone. A pod that is evicted has
// the grace period of the eviction. Every other pod has kTerminationNotice, which counts from when the operator first
// saw that its node is terminating, or from `noticed` if the node is gone.
Time first_end(const Observation& observation, const Generation& generation, Time noticed);

// Returns when the operator observed the first sign of a disruption (a broken worker or an unanswered poll), or the
// present time if there is no such sign.
Time first_sign(const Observation& observation, const Generation& generation);

}  // namespace sailor
