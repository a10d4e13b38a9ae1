// StepRecorder: records a simulated step as the list of operations of every replica.
#pragma once

#include "core/schedule/schedule.h"

namespace sailor {

class StepRecorder {
 public:
  // Assigns the microbatches to replicas and reserves memory for every pass and message.
  StepRecorder(const Plan& plan, std::vector<std::vector<int>> routes);

  void pass(int stage, int microbatch, OperationKind kind);
  // A message starts: it is recorded at its sender and at its receiver.
  void activation(int from_stage, int microbatch);
  void gradient(int from_stage, int microbatch);

  Schedule take(Nanoseconds duration) &&;

 private:
  [[nodiscard]] int replica_of(int stage, int microbatch) const {
    return schedule_.routes[static_cast<std::size_t>(stage)][static_cast<std::size_t>(microbatch)];
  }
  ReplicaSchedule& list_of(int stage, int microbatch) {
    return schedule_.replicas[static_cast<std::size_t>(stage)][static_cast<std::size_t>(replica_of(stage, microbatch))];
  }
  void received(int stage, int microbatch, OperationKind kind, int peer);

  Schedule schedule_;
  std::vector<std::vector<int>> in_flight_;  // [stage][replica]
};

}  // namespace sailor
