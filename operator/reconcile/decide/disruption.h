// Trouble: why a generation cannot go on, or should not.
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
    kTerminating,     // a pod or node is about to go, and trains still
    kConnectionLost,  // all are there, but a connection broke
  };
  Kind kind = Kind::kLost;
  std::string reason = {};                                // "NodePreempted" ...
  std::string message = {};                               // a sentence
  std::set<std::string> pods = {};                        // that are lost or going
  std::vector<QuarantinedNode> nodes_to_quarantine = {};  // nodes that gave no answer, or are of no use for a while
  std::set<std::string> unreachable_pods = {};            // of the pods, by UID: they answer us, and not all others
};

// The gravest of a generation: the newest, or the one that trains on while the newest is made ready. Nothing if all is
// well. A failure of the trainer itself is none of these (see failures.h).
std::optional<Disruption> find_disruption(const Observation& observation, const Generation& generation);

// What keeps a pod that has not trained yet from taking part; nothing if it is on its way.
std::optional<Disruption> find_joining_pods_problem(const Observation& observation);

// When the first sign was seen of what is wrong with a generation; now if there is none but that.
Time first_sign(const Observation& observation, const Generation& generation);

}  // namespace sailor
