// What a worker does in every step of a generation, in order.
#pragma once

#include <vector>

#include "core/protocol/assignment.h"
#include "core/schedule/schedule.h"

namespace sailor::trainer {

// Of the schedule that all workers make of the same assignment: the one that was simulated for the plan, if the
// assignment brings the times; else one by the replicas' shares.
std::vector<Operation> operations_of(const Assignment& assignment, const Role& role);

}  // namespace sailor::trainer
