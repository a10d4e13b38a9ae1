// Translates an assignment into the command for the state machine of one worker (worker_machine.h).
#pragma once

#include <optional>
#include <string>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

struct WorkerName {
  std::string agent;  // the pod's name
  int gpu = 0;
};

WorkerName name_of(const Assignment& assignment, const WorkerSlot& slot);
// Returns the rank of the worker, or nothing if it has no slot.
std::optional<int> rank_of(const Assignment& assignment, const WorkerName& worker);

// Returns true if a worker that trains in the running generation has no slot in the next one. (A worker that leaves in
// an orderly way has a slot without a role.)
bool drops_a_peer(const Assignment& next, const Assignment& running);

// `running` is the assignment that the worker obeys now; its generation is 0 if there is none.
Command command_of(const Assignment& assignment, const WorkerName& worker, const Assignment& running);

}  // namespace sailor::trainer
