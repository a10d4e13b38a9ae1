// Trouble: why a generation cannot go on, or should not.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/model/observation.h"

namespace sailor {

struct Trouble {
  enum class Kind {
    kLost,     // a pod or node is gone: the generation is broken
    kGoing,    // a pod or node is about to go, and trains still
    kRegroup,  // all are there, but a connection broke
  };
  Kind kind = Kind::kLost;
  std::string reason = {};                  // "NodePreempted" ...
  std::string message = {};                 // a sentence
  std::set<std::string> pods = {};          // that are lost or going
  std::vector<Suspect> new_suspects = {};   // nodes that gave no answer, or are of no use for a while
  std::set<std::string> out_of_reach = {};  // of the pods, by UID: they answer us, and not all others
};

// The gravest of a generation: the newest, or the one that trains on while the newest is made ready. Nothing if all is
// well. A failure of the trainer itself is none of these (see failures.h).
std::optional<Trouble> find_trouble(const Observation& seen, const Generation& generation);

// What keeps a pod that has not trained yet from taking part; nothing if it is on its way.
std::optional<Trouble> find_newcomers_trouble(const Observation& seen);

// When the first sign was seen of what is wrong with a generation; now if there is none but that.
Time first_sign(const Observation& seen, const Generation& generation);

// A worker of this pod has lost a peer in that generation.
bool is_broken(const AgentView& agent, std::int64_t generation);

// It answers, and so do its workers: until their processes have spoken others would wait for them.
bool is_ready(const AgentView& agent);

// A worker of this pod has a part of the job's state.
bool holds_state(const AgentView& agent);

const Member* member_of(const Generation& generation, const std::string& pod_uid);

const PodView* find_pod(const Observation& seen, const std::string& name);
const AgentView* find_agent(const Observation& seen, const std::string& pod_uid);
const AgentView* find_agent(const Observation& seen, const PodView& pod);
const AgentView* find_answering(const Observation& seen, const Member& member);  // null also if it does not answer us

// An agent that answers us says that this pod does not answer it.
bool misses(const AgentView& agent, const Member& peer);

// Of an earlier generation than any whose pods may go on.
bool is_stale(const Observation& seen, const PodView& pod);
// A stale pod still runs on the slot's node and has to end first. One that has ended uses no GPU, though its object may
// stay for as long as a dead node does.
bool is_occupied(const Observation& seen, const Slot& slot);

}  // namespace sailor
