// StepTiming: plays the operations of a schedule over engines and links, and says when each of them ran. Exact for its
// inputs; pipeline_time.h is its fast stand-in for the search.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"

namespace sailor {

// How an executor does what the schedule lists.
struct Execution {
  bool receives_block = false;          // in its place in the list; else receives are posted ahead
  std::vector<double> held;             // by boundary: the part of a message's way that its sender waits for; empty: 0
  std::vector<Nanoseconds> all_reduce;  // by stage, of its gradients, once all its replicas have them
  std::vector<int> buckets;             // by stage: so many parts of it follow the last backward pass; empty: 1
  std::vector<Nanoseconds> update;      // by stage
  std::vector<Nanoseconds> gather;      // by stage: of the updated weights, where the optimizer is sharded
};

struct TimedPass {
  OperationKind kind = OperationKind::kForward;
  int microbatch = 0;
  Nanoseconds start{};
  Nanoseconds end{};
};

// From leaving its sender, once that is free to send, to its arrival.
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
  std::vector<Nanoseconds> passes_done;  // by stage
  std::vector<Nanoseconds> synced;       // by stage
  std::vector<Nanoseconds> updated;      // by stage

  [[nodiscard]] Nanoseconds passes_end() const;
  [[nodiscard]] Nanoseconds end() const;
};

// A replica has one queue out and one in, and so has a network card that replicas share, first come, first served; a
// message that waits on its way waits in the network and holds up nobody behind it. `times` are those that the engines
// and links really have, whatever the schedule was made from.
StepTiming time_step(const Schedule& schedule, const ScheduleTimes& times, const Execution& execution);

}  // namespace sailor
