// Returns the operations that a worker runs in every step of a generation, in order.
#pragma once

#include <vector>

#include "core/protocol/assignment.h"
#include "core/schedule/schedule.h"

namespace sailor::trainer {

struct WorkerSchedule {
  std::vector<Operation> operations;
  // One entry per operation; 0 for an operation that is not a pass or needs no message. A message also acknowledges
  // messages in the other direction: its sender has done all passes before it in the sender's list, so it has received
  // the messages that those passes needed. The entry is the number of this worker's messages to that sender that are
  // acknowledged in this way and were not acknowledged before.
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
