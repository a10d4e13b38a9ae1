#include "trainer/step/operations.h"

#include <map>
#include <set>
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

// Every microbatch connects the replicas that process it.
std::vector<std::vector<int>> connected_replicas(const Schedule& schedule, const Role& role) {
  const std::size_t stages = schedule.routes.size();
  std::vector<std::set<int>> connected(stages);
  connected[static_cast<std::size_t>(role.stage)].insert(role.replica);
  for (bool is_complete = false; !is_complete;) {
    is_complete = true;
    for (std::size_t microbatch = 0; microbatch < schedule.routes.front().size(); ++microbatch) {
      bool is_reached = false;
      for (std::size_t stage = 0; stage < stages; ++stage) {
        is_reached = is_reached || connected[stage].contains(schedule.routes[stage][microbatch]);
      }
      if (!is_reached) continue;
      for (std::size_t stage = 0; stage < stages; ++stage) {
        if (connected[stage].insert(schedule.routes[stage][microbatch]).second) is_complete = false;
      }
    }
  }
  std::vector<std::vector<int>> ascending;
  ascending.reserve(stages);
  for (const auto& replicas : connected) ascending.emplace_back(replicas.begin(), replicas.end());
  return ascending;
}

}  // namespace

WorkerSchedule worker_schedule_of(const Assignment& assignment, const Role& role) {
  const Plan& plan = assignment.plan;
  Schedule schedule = assignment.schedule_times ? make_schedule(plan, *assignment.schedule_times)
                                                : make_schedule(plan, times_from_shares(plan), SchedulePolicy::kFlow);
  auto& own = schedule.replicas.at(static_cast<std::size_t>(role.stage)).at(static_cast<std::size_t>(role.replica));
  WorkerSchedule made{.operations = {},
                      .acknowledged = acknowledged_sends(schedule, role),
                      .connected = connected_replicas(schedule, role)};
  made.operations = std::move(own.operations);
  return made;
}

}  // namespace sailor::trainer
