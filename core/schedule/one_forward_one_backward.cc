#include "core/schedule/one_forward_one_backward.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

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

// The operations of one replica, as its passes are added in order. The message that a pass makes is sent in the slot
// after it: a gradient before anything is received, an activation after the gradient is received.
class ReplicaOperations {
 public:
  ReplicaOperations(int replica, bool is_first, bool is_last)
      : replica_(replica), is_first_(is_first), is_last_(is_last) {}

  void add_forward(int mb) {
    send();
    if (!is_first_) operations_.push_back({OperationKind::kReceiveActivation, mb, replica_});
    operations_.push_back({OperationKind::kForward, mb, -1});
    if (!is_last_) unsent_ = Operation{OperationKind::kSendActivation, mb, replica_};
  }

  void add_backward(int mb) {
    if (!is_last_) operations_.push_back({OperationKind::kReceiveGradient, mb, replica_});
    send();
    operations_.push_back({OperationKind::kBackward, mb, -1});
    if (!is_first_) unsent_ = Operation{OperationKind::kSendGradient, mb, replica_};
  }

  void send() {
    if (unsent_) operations_.push_back(*unsent_);
    unsent_.reset();
  }

  [[nodiscard]] std::vector<Operation> take() && { return std::move(operations_); }

 private:
  int replica_;
  bool is_first_;
  bool is_last_;
  std::optional<Operation> unsent_;
  std::vector<Operation> operations_;
};

ReplicaSchedule replica_schedule(std::vector<int> microbatches, int replica, bool is_first, int stages_left) {
  const auto share = static_cast<int>(microbatches.size());
  ReplicaOperations operations(replica, is_first, stages_left == 1);
  for (const int pass : slots_of(share, stages_left)) {
    if (pass > 0) operations.add_forward(microbatches[static_cast<std::size_t>(pass - 1)]);
    if (pass < 0) operations.add_backward(microbatches[static_cast<std::size_t>(-pass - 1)]);
    if (pass == 0) operations.send();
  }
  operations.send();
  return {.microbatches = std::move(microbatches),
          .operations = std::move(operations).take(),
          .max_in_flight = std::min(stages_left, share)};
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
