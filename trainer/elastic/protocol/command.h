// What an assignment asks of one worker, as the command of its state machine.
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
std::optional<int> slot_of(const Assignment& assignment, const WorkerName& worker);  // its rank

// True if a worker with a role in the running generation has no slot in the next one, not even to leave.
bool drops_a_peer(const Assignment& next, const Assignment& running);

// `running` is the assignment that the worker obeys now; its generation is 0 if there is none.
Command command_of(const Assignment& assignment, const WorkerName& worker, const Assignment& running);

}  // namespace sailor::trainer
