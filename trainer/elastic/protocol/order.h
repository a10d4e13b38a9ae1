// What an assignment means to one worker: the order that its side of the protocol knows.
#pragma once

#include <optional>
#include <string>

#include "planner/model/assignment.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

struct WorkerName {
  std::string agent;  // the pod's name
  int gpu = 0;
};

WorkerName name_of(const Assignment& assignment, const WorkerSlot& slot);
std::optional<int> slot_of(const Assignment& assignment, const WorkerName& worker);  // its rank

// `running` is the assignment that the worker obeys now; of generation 0 if none.
Order order_of(const Assignment& assignment, const WorkerName& worker, const Assignment& running);

}  // namespace sailor::trainer
