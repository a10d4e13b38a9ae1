// Trouble: why the newest generation cannot go on, or should not.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/reconcile/observation.h"

namespace sailor {

struct Trouble {
  enum class Kind {
    kLost,     // a pod or node is gone: the generation is broken
    kGoing,    // a pod or node is about to go, and trains still
    kRegroup,  // all are there, but a connection broke
  };
  Kind kind = Kind::kLost;
  std::string reason;                 // "NodePreempted" ...
  std::string message;                // a sentence
  std::set<std::string> pods;         // that are lost or going
  std::vector<Suspect> new_suspects;  // nodes that gave no answer
};

// The gravest; nothing if all is well. A failure of the trainer itself is none of these (see failures.h).
std::optional<Trouble> find_trouble(const Observation& seen);

// The newest record's workers of this pod that still have something to do.
bool is_broken(const AgentView& agent, std::int64_t generation);

const PodView* find_pod(const Observation& seen, const std::string& name);
const AgentView* find_agent(const Observation& seen, const PodView& pod);
bool is_suspect(const Observation& seen, const NodeView& node);

}  // namespace sailor
