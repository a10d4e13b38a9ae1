// Schedule: the ordered list of operations of every worker of a plan in one step. The trainer executes it, the
// simulator times it, and make_schedule.h makes it.
#pragma once

#include <string_view>
#include <vector>

#include "core/model/plan.h"
#include "core/model/schedule_times.h"

namespace sailor {

enum class OperationKind {
  kForward,
  kBackward,
  kSendActivation,     // sends to the next stage
  kReceiveActivation,  // receives from the previous stage
  kSendGradient,       // sends to the previous stage
  kReceiveGradient,    // receives from the next stage
};

std::string_view to_string(OperationKind kind);

// How many of its next receives an executor posts early. The simulator counts their buffers.
inline constexpr int kReceivesAhead = 3;

struct Operation {
  OperationKind kind = OperationKind::kForward;
  int microbatch = 0;  // 0..M-1 within the step; the same number in every stage
  int peer = -1;       // index of the replica in the neighbouring stage that a message goes to or comes from; -1: none
  friend bool operator==(const Operation&, const Operation&) = default;
};

// The operations of one replica. All workers of its tensor-parallel group execute the same list.
//
// Contract for an executor: execute the operations in this order. A receive is recorded where its message starts to
// travel: post it there at the latest, and wait for it only at the pass that needs the message. A send may return
// before its message has left. Both hide transfer times. Both ends of a link list its messages in the same order, so a
// first-in-first-out channel for each (sender, receiver, direction) needs no tags. An executor whose sends block until
// the receiver receives does not deadlock: all lists are views of one sequence.
// Gradients are accumulated in the order of the backward passes in the list, whatever the timing.
struct ReplicaSchedule {
  std::vector<int> microbatches;  // ascending
  std::vector<Operation> operations;
  int max_in_flight = 0;  // most microbatches whose forward pass is done and whose backward pass is not
  friend bool operator==(const ReplicaSchedule&, const ReplicaSchedule&) = default;
};

struct Schedule {
  std::vector<std::vector<ReplicaSchedule>> replicas;  // [stage][replica], as in the plan
  std::vector<std::vector<int>> routes;                // [stage][microbatch]: index of the replica that processes it
  Nanoseconds duration{};  // the time from the start of the step to the end of its last pass
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace sailor
