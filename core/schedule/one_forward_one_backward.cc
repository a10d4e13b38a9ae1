#include "core/schedule/one_forward_one_backward.h"

#include <algorithm>

#include "core/schedule/routes.h"

namespace sailor {
namespace {

bool is_equal_pipelines(const Plan& plan) {
  const Stage& first = plan.stages.front();
  return std::ranges::all_of(plan.stages, [&](const Stage& stage) {
    return stage.replicas.size() == first.replicas.size() &&
           std::ranges::all_of(stage.replicas, [&](const Replica& replica) {
             return replica.microbatches == first.replicas.front().microbatches;
           });
  });
}

// The slots of one replica, for forward and backward passes in turn. +k is the forward pass of its k-th microbatch,
// counted from 1; -k is the backward pass; 0 is an empty slot.
std::vector<int> slots_of(int microbatches, int stages_left) {
  std::vector<int> slots;
  for (int k = 1; k <= microbatches + stages_left - 1; ++k) {
    slots.push_back(k <= microbatches ? k : 0);
    slots.push_back(k >= stages_left ? -(k - stages_left + 1) : 0);
  }
  return slots;
}

ReplicaSchedule replica_schedule(std::vector<int> of_replica, int replica, bool is_first, int stages_left) {
  const bool is_last = stages_left == 1;
  const auto share = static_cast<int>(of_replica.size());
  ReplicaSchedule schedule{
      .microbatches = std::move(of_replica), .operations = {}, .max_in_flight = std::min(stages_left, share)};
  // The message of the previous slot. It is sent in the next slot: a gradient before anything is received, an
  // activation after the gradient is received.
  std::optional<Operation> unsent;
  const auto flush = [&] {
    if (unsent) schedule.operations.push_back(*unsent);
    unsent.reset();
  };
  for (const int pass : slots_of(share, stages_left)) {
    if (pass == 0) {
      flush();
      continue;
    }
    const bool forward = pass > 0;
    const int mb = schedule.microbatches[static_cast<std::size_t>(std::abs(pass) - 1)];
    if (forward) flush();
    if (forward && !is_first) schedule.operations.push_back({OperationKind::kReceiveActivation, mb, replica});
    if (!forward && !is_last) schedule.operations.push_back({OperationKind::kReceiveGradient, mb, replica});
    flush();
    schedule.operations.push_back({forward ? OperationKind::kForward : OperationKind::kBackward, mb, -1});
    if (forward && !is_last) unsent = Operation{OperationKind::kSendActivation, mb, replica};
    if (!forward && !is_first) unsent = Operation{OperationKind::kSendGradient, mb, replica};
  }
  flush();
  return schedule;
}

}  // namespace

std::optional<Schedule> deepspeed_schedule(const Plan& plan) {
  if (plan.stages.empty() || !is_equal_pipelines(plan)) return std::nullopt;
  Schedule schedule;
  schedule.routes = make_routes(plan, RouteRule::kStart);
  const auto stages = static_cast<int>(plan.stages.size());
  for (int stage = 0; stage < stages; ++stage) {
    const Stage& of_plan = plan.stages[static_cast<std::size_t>(stage)];
    auto& replicas = schedule.replicas.emplace_back();
    for (int r = 0; r < std::ssize(of_plan.replicas); ++r) {
      std::vector<int> microbatches;
      const auto& route = schedule.routes[static_cast<std::size_t>(stage)];
      for (int mb = 0; mb < std::ssize(route); ++mb) {
        if (route[static_cast<std::size_t>(mb)] == r) microbatches.push_back(mb);
      }
      replicas.push_back(replica_schedule(std::move(microbatches), r, stage == 0, stages - stage));
    }
  }
  return schedule;
}

}  // namespace sailor
