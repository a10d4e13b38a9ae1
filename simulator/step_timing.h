// StepTiming: when every operation of a step runs, from a simulation of the schedule's operations on engines and links.
// The result is exact for its inputs. fast_step_time.h approximates it for the search.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"

namespace sailor {

// The options of how workers execute the operations that the schedule lists.
struct Execution {
  bool receives_block = false;  // receives wait at their place in the list; else workers post receives ahead
  std::vector<double> held;     // per boundary: the part of a message's transfer that its sender waits for; empty: 0
  std::vector<Nanoseconds> all_reduce;  // per stage: the all-reduce of its gradients, once all replicas have them
  std::vector<int> buckets;         // per stage: parts of the all-reduce that follow the last backward pass; empty: 1
  std::vector<Nanoseconds> update;  // per stage
  std::vector<Nanoseconds> gather;  // per stage: the all-gather of the updated weights, if the optimizer is sharded
  // The sum of a tied embedding's gradients over the first and the last stage, once both have summed the others.
  Nanoseconds tied{};
};

struct TimedPass {
  OperationKind kind = OperationKind::kForward;
  int microbatch = 0;
  Nanoseconds start{};
  Nanoseconds end{};
};

// A message, from the time when its sender starts to send it until it arrives.
struct TimedMessage {
  bool is_gradient = false;
  int boundary = 0;
  int from = 0;  // index of the replica that sends
  int to = 0;
  int microbatch = 0;
  Nanoseconds start{};
  Nanoseconds end{};
};

struct StepTiming {
  std::vector<std::vector<std::vector<TimedPass>>> passes;  // [stage][replica]
  std::vector<TimedMessage> messages;
  std::vector<Nanoseconds> passes_done;  // one entry per stage
  std::vector<Nanoseconds> synced;       // one entry per stage
  std::vector<Nanoseconds> updated;      // one entry per stage

  [[nodiscard]] Nanoseconds passes_end() const;
  [[nodiscard]] Nanoseconds end() const;
};

// Simulates the schedule. A replica has one queue for sending and one for receiving, first come, first served; so has a
// NIC that replicas share. A message that waits on its path waits in the network and does not delay the messages behind
// it. `times` are the actual times of engines and links, which may differ from those that the schedule was made from.
StepTiming time_step(const Schedule& schedule, const ScheduleTimes& times, const Execution& execution);

}  // namespace sailor
