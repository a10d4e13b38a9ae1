#include "core/schedule/step_recorder.h"

#include <algorithm>

namespace sailor {

StepRecorder::StepRecorder(const Plan& plan, std::vector<std::vector<int>> routes) {
  schedule_.routes = std::move(routes);
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const int neighbours = (stage > 0 ? 1 : 0) + (stage + 1 < plan.stages.size() ? 1 : 0);
    auto& replicas = schedule_.replicas.emplace_back(plan.stages[stage].replicas.size());
    for (std::size_t r = 0; r < replicas.size(); ++r) {
      const auto share = static_cast<std::size_t>(plan.stages[stage].replicas[r].microbatches);
      replicas[r].microbatches.reserve(share);
      replicas[r].operations.reserve(share * static_cast<std::size_t>(2 + 2 * neighbours));
    }
    const std::vector<int>& route = schedule_.routes[stage];
    for (std::size_t mb = 0; mb < route.size(); ++mb) {
      replicas[static_cast<std::size_t>(route[mb])].microbatches.push_back(static_cast<int>(mb));
    }
    in_flight_.emplace_back(replicas.size());
  }
}

void StepRecorder::pass(int stage, int microbatch, OperationKind kind) {
  int& in_flight = in_flight_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(replica_of(stage, microbatch))];
  ReplicaSchedule& list = list_of(stage, microbatch);
  list.operations.push_back({kind, microbatch, -1});
  if (kind == OperationKind::kForward) list.max_in_flight = std::max(list.max_in_flight, ++in_flight);
  if (kind == OperationKind::kBackward) --in_flight;
}

void StepRecorder::activation(int from_stage, int microbatch) {
  list_of(from_stage, microbatch)
      .operations.push_back({OperationKind::kSendActivation, microbatch, replica_of(from_stage + 1, microbatch)});
  received(from_stage + 1, microbatch, OperationKind::kReceiveActivation, replica_of(from_stage, microbatch));
}

void StepRecorder::gradient(int from_stage, int microbatch) {
  list_of(from_stage, microbatch)
      .operations.push_back({OperationKind::kSendGradient, microbatch, replica_of(from_stage - 1, microbatch)});
  received(from_stage - 1, microbatch, OperationKind::kReceiveGradient, replica_of(from_stage, microbatch));
}

void StepRecorder::received(int stage, int microbatch, OperationKind kind, int peer) {
  list_of(stage, microbatch).operations.push_back({kind, microbatch, peer});
}

Schedule StepRecorder::take(Nanoseconds duration) && {
  schedule_.duration = duration;
  return std::move(schedule_);
}

}  // namespace sailor
