#include "trainer/step/operations.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/schedule/make_schedule.h"

namespace sailor::trainer {
namespace {

// Whether the operation is a pass that needs a message of another stage.
bool needs_message(const Operation& operation, int stage, const Schedule& schedule) {
  if (operation.kind == OperationKind::kForward) return stage > 0;
  return operation.kind == OperationKind::kBackward && stage + 1 < std::ssize(schedule.routes);
}

// For the message of every microbatch that a peer of this replica sends to it: how many messages of this replica the
// peer has used before, each for one pass.
std::map<int, int> messages_used_before(const Schedule& schedule, const Role& role, bool peer_is_next, int peer) {
  const auto& own_microbatches = schedule.routes.at(static_cast<std::size_t>(role.stage));
  const int stage = role.stage + (peer_is_next ? 1 : -1);
  const OperationKind pass = peer_is_next ? OperationKind::kForward : OperationKind::kBackward;
  const OperationKind send = peer_is_next ? OperationKind::kSendGradient : OperationKind::kSendActivation;
  std::map<int, int> used_before;
  int used = 0;
  for (const Operation& operation :
       schedule.replicas.at(static_cast<std::size_t>(stage)).at(static_cast<std::size_t>(peer)).operations) {
    if (own_microbatches.at(static_cast<std::size_t>(operation.microbatch)) != role.replica) continue;
    if (operation.kind == pass) ++used;
    if (operation.kind == send) used_before[operation.microbatch] = used;
  }
  return used_before;
}

std::vector<int> acknowledged_sends(const Schedule& schedule, const Role& role) {
  struct Peer {
    std::map<int, int> used_before;
    int acknowledged = 0;
  };
  std::map<std::pair<bool, int>, Peer> peers;  // whether it is of the next stage; replica
  const auto& own =
      schedule.replicas.at(static_cast<std::size_t>(role.stage)).at(static_cast<std::size_t>(role.replica));
  std::vector<int> acknowledged;
  acknowledged.reserve(own.operations.size());
  for (const Operation& operation : own.operations) {
    int& count = acknowledged.emplace_back();
    if (!needs_message(operation, role.stage, schedule)) continue;
    const bool is_next = operation.kind == OperationKind::kBackward;
    const int replica = schedule.routes[static_cast<std::size_t>(role.stage + (is_next ? 1 : -1))]
                                       [static_cast<std::size_t>(operation.microbatch)];
    Peer& peer = peers[{is_next, replica}];
    if (peer.used_before.empty()) peer.used_before = messages_used_before(schedule, role, is_next, replica);
    const int used = peer.used_before.at(operation.microbatch);
    count = std::max(0, used - peer.acknowledged);
    peer.acknowledged += count;
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
