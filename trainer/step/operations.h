// Returns the operations that a worker runs in every step of a generation, in order.
#pragma once

#include <vector>

#include "core/protocol/assignment.h"
#include "core/schedule/schedule.h"

namespace sailor::trainer {

struct WorkerSchedule {
  std::vector<Operation> operations;
  // One entry per operation, 0 for all but passes that need a message. The message shows that its sender has done all
  // passes that precede it in the sender's list, and so has received the messages that these needed. The entry is how
  // many messages of this worker that are, without those of earlier entries.
  std::vector<int> acknowledged;
  // The replicas that messages connect with this one, directly or by way of others, and itself: [stage], ascending. All
  // of them have the same entry.
  std::vector<std::vector<int>> connected;
};

// All workers compute the same schedule from the same assignment. It is the schedule that was simulated for the plan,
// because the assignment contains the times of the simulation. Tests and benchmarks also make assignments without
// times; then the schedule follows from the replicas' numbers of microbatches.
WorkerSchedule worker_schedule_of(const Assignment& assignment, const Role& role);

}  // namespace sailor::trainer
