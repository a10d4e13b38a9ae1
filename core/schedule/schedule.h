// Schedule: what every worker of a plan does in a step, in order. The trainer executes it, the simulator times it.
// make_schedule.h makes it.
#pragma once

#include <string_view>
#include <vector>

#include "core/model/plan.h"
#include "core/model/schedule_times.h"

namespace sailor {

enum class OperationKind {
  kForward,
  kBackward,
  kSendActivation,     // to the next stage
  kReceiveActivation,  // from the previous stage
  kSendGradient,       // to the previous stage
  kReceiveGradient,    // from the next stage
};

std::string_view to_string(OperationKind kind);

struct Operation {
  OperationKind kind = OperationKind::kForward;
  int microbatch = 0;  // of the step, 0..M-1: it is the same microbatch in every stage
  int peer = -1;       // a transfer's other end: the replica's index in the neighbouring stage; -1: none
  friend bool operator==(const Operation&, const Operation&) = default;
};

// What one replica does. All workers (shards) of its tensor-parallel group do the same.
//
// Contract for an executor: do the operations in this order. A send may return before its message has left, a receive
// may be posted ahead of its place (that hides transfers); both ends of a link list its messages in the same order, so
// a channel that is first-in-first-out for each (sender, receiver, direction) needs no tags. An executor that blocks in
// every send until the receiver is there finishes as well: all lists are views of one sequence.
// Gradients are accumulated in the order of the backward passes in the list, whatever the timing.
struct ReplicaSchedule {
  std::vector<int> microbatches;  // that go through it, ascending
  std::vector<Operation> operations;
  int max_in_flight = 0;       // most microbatches whose forward is done and whose backward is not
  int max_waiting_inputs = 0;  // most received messages that wait for their pass: buffers to provide
  friend bool operator==(const ReplicaSchedule&, const ReplicaSchedule&) = default;
};

struct Schedule {
  std::vector<std::vector<ReplicaSchedule>> replicas;  // [stage][replica], as in the plan
  std::vector<std::vector<int>> routes;                // [stage][microbatch]: the replica that it goes through
  Nanoseconds duration{};                              // of all passes, by the given times
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace sailor
