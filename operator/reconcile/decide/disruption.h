// Disruptions: why a generation cannot continue, or should not.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/model/observation.h"

namespace sailor {

struct Disruption {
  enum class Kind {
    kLost,            // a pod or node is gone: the generation is broken
    kTerminating,     // a pod or node is about to be terminated, and still trains
    kConnectionLost,  // all pods are there, but a connection broke
  };
  Kind kind = Kind::kLost;
  Reason reason = Reason::kNodeLost;
  std::string message = {};                               // a sentence without a full stop
  std::set<std::string> pods = {};                        // that are lost or about to be
  std::vector<QuarantinedNode> nodes_to_quarantine = {};  // nodes that are not used for a while
  std::set<std::string> unreachable_pods = {};            // UIDs of pods that answer the operator, but not all peers
};

// The gravest disruption of a generation: of the newest one, or of the one that trains on while the newest is prepared.
// Empty: all is well. A failure of the trainer itself does not count here (see trainer_failures.h).
std::optional<Disruption> find_disruption(const Observation& observation, const Generation& generation);

// What keeps a pod that has not trained yet from taking part. Empty: all such pods may still come.
std::optional<Disruption> find_joining_pods_problem(const Observation& observation);

// When the first sign of what is wrong with a generation was observed; now, if there was no earlier sign.
Time first_sign(const Observation& observation, const Generation& generation);

}  // namespace sailor
