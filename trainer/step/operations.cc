#include "trainer/step/operations.h"

#include <map>
#include <utility>

#include "core/schedule/make_schedule.h"

namespace sailor::trainer {
namespace {

// Follows the list of each peer from one of its messages to the next.
std::vector<int> acknowledged_sends(const Schedule& schedule, const Role& role) {
  const auto& own =
      schedule.replicas.at(static_cast<std::size_t>(role.stage)).at(static_cast<std::size_t>(role.replica));
  std::map<std::pair<int, int>, std::size_t> positions;  // in the lists of the peers, by stage and replica
  std::vector<int> acknowledged;
  acknowledged.reserve(own.operations.size());
  for (const Operation& operation : own.operations) {
    int& count = acknowledged.emplace_back();
    const bool is_gradient = operation.kind == OperationKind::kReceiveGradient;
    if (!is_gradient && operation.kind != OperationKind::kReceiveActivation) continue;
    const int stage = role.stage + (is_gradient ? 1 : -1);
    const auto& peer =
        schedule.replicas.at(static_cast<std::size_t>(stage)).at(static_cast<std::size_t>(operation.peer));
    const Operation message{is_gradient ? OperationKind::kSendGradient : OperationKind::kSendActivation,
                            operation.microbatch, role.replica};
    const OperationKind receive = is_gradient ? OperationKind::kReceiveActivation : OperationKind::kReceiveGradient;
    std::size_t& position = positions[{stage, operation.peer}];
    for (; peer.operations.at(position) != message; ++position) {
      const Operation& other = peer.operations[position];
      if (other.kind == receive && other.peer == role.replica) ++count;
    }
  }
  return acknowledged;
}

}  // namespace

WorkerSchedule worker_schedule_of(const Assignment& assignment, const Role& role) {
  const Plan& plan = assignment.plan;
  Schedule schedule = assignment.schedule_times ? make_schedule(plan, *assignment.schedule_times)
                                                : make_schedule(plan, times_from_shares(plan), SchedulePolicy::kFlow);
  std::vector<int> acknowledged = acknowledged_sends(schedule, role);
  auto& stage = schedule.replicas.at(static_cast<std::size_t>(role.stage));
  return {std::move(stage.at(static_cast<std::size_t>(role.replica)).operations), std::move(acknowledged)};
}

}  // namespace sailor::trainer
