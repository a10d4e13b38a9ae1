#include "simulator/step_timing.h"

#include <algorithm>

#include "core/model/check.h"
#include "core/schedule/next_events.h"
#include "core/schedule/step_flow.h"
#include "core/schedule/step_traffic.h"

namespace sailor {
namespace {

constexpr std::int64_t kNever = NextEvents::kNever;

struct Worker {
  int stage = 0;
  int replica = 0;
  std::size_t next = 0;  // operation
  std::int64_t now = 0;  // ns since the start of the step
};

class StepSimulation {
 public:
  StepSimulation(const Schedule& schedule, const ScheduleTimes& times, const Execution& execution)
      : schedule_(schedule),
        times_(times),
        execution_(execution),
        flow_(flow_of(times, schedule.routes)),
        traffic_(flow_),
        is_waiting_(flow_.workers.size()),
        turns_(flow_.workers.size()) {
    const std::size_t inputs = flow_.slot(flow_.stages(), 0);
    for (auto* table : {&activations_, &gradients_}) table->assign(inputs, kNever);
    for (int stage = 0; stage < flow_.stages(); ++stage) {
      const auto& replicas = schedule.replicas[static_cast<std::size_t>(stage)];
      auto& passes = timing_.passes.emplace_back(replicas.size());
      for (std::size_t r = 0; r < replicas.size(); ++r) {
        passes[r].reserve(2 * replicas[r].microbatches.size());
        workers_.push_back({.stage = stage, .replica = static_cast<int>(r)});
      }
    }
    timing_.messages.reserve(2 * (inputs - flow_.slot(1, 0)));
  }

  StepTiming run() {
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) turns_.set(worker, 0);
    while (turns_.earliest() != kNever) take_turn(turns_.first());
    finish_stages();
    return std::move(timing_);
  }

 private:
  const std::vector<Operation>& operations(const Worker& worker) const {
    return schedule_.replicas[static_cast<std::size_t>(worker.stage)][static_cast<std::size_t>(worker.replica)]
        .operations;
  }
  const Worker& worker_of(std::size_t stage, std::size_t replica) const {
    return workers_[static_cast<std::size_t>(flow_.first(static_cast<int>(stage))) + replica];
  }
  bool is_last(const Worker& worker) const { return worker.stage + 1 == flow_.stages(); }

  // Executes operations until another replica must go first. Only transfers must be in the order of time, because they
  // take their places in the queues of the NICs.
  void take_turn(std::size_t id) {
    Worker& worker = workers_[id];
    const auto& list = operations(worker);
    for (; worker.next < list.size(); ++worker.next) {
      const Operation& operation = list[worker.next];
      if (!has_input(worker, operation)) {
        is_waiting_[id] = 1;
        turns_.set(id, kNever);
        return;
      }
      if (operation.kind == OperationKind::kForward || operation.kind == OperationKind::kBackward) {
        compute(worker, operation);
      } else if (operation.kind == OperationKind::kSendActivation || operation.kind == OperationKind::kSendGradient) {
        turns_.set(id, worker.now);
        if (turns_.first() != id) return;
        send(worker, operation);
      }
    }
    turns_.set(id, kNever);
  }

  // Advances the worker to the time when the input of the operation has arrived. False if its sender has not sent it
  // yet.
  bool has_input(Worker& worker, const Operation& operation) {
    const bool is_receive =
        operation.kind == OperationKind::kReceiveActivation || operation.kind == OperationKind::kReceiveGradient;
    if (is_receive && !execution_.receives_block) return true;
    const bool forward =
        operation.kind == OperationKind::kForward || operation.kind == OperationKind::kReceiveActivation;
    const bool backward =
        operation.kind == OperationKind::kBackward || operation.kind == OperationKind::kReceiveGradient;
    std::int64_t arrival = 0;
    if (forward && worker.stage > 0) arrival = activations_[flow_.slot(worker.stage, operation.microbatch)];
    if (backward && !is_last(worker)) arrival = gradients_[flow_.slot(worker.stage, operation.microbatch)];
    if (arrival == kNever) return false;
    worker.now = std::max(worker.now, arrival);
    return true;
  }

  void compute(Worker& worker, const Operation& operation) {
    const FlowWorker& cost = flow_.workers[static_cast<std::size_t>(flow_.first(worker.stage) + worker.replica)];
    const std::int64_t start = worker.now;
    worker.now += operation.kind == OperationKind::kForward ? cost.forward : cost.backward;
    timing_.passes[static_cast<std::size_t>(worker.stage)][static_cast<std::size_t>(worker.replica)].push_back(
        {operation.kind, operation.microbatch, Nanoseconds(start), Nanoseconds(worker.now)});
  }

  void send(Worker& sender, const Operation& operation) {
    const bool down = operation.kind == OperationKind::kSendActivation;
    const StepTraffic::Path path =
        traffic_.path_of(sender.stage, operation.microbatch, down ? StepTraffic::kDown : StepTraffic::kUp);
    const int boundary = std::min(path.from_stage, path.to_stage);
    const auto [start, arrival] = traffic_.carry(path, sender.now);
    const auto receiver = static_cast<std::size_t>(path.to);
    (down ? activations_ : gradients_)[flow_.slot(path.to_stage, operation.microbatch)] = arrival;
    timing_.messages.push_back({!down, boundary, sender.replica, workers_[receiver].replica, operation.microbatch,
                                Nanoseconds(start), Nanoseconds(arrival)});
    hold(sender, start, *path.link, boundary);
    if (is_waiting_[receiver] != 0) {
      is_waiting_[receiver] = 0;
      turns_.set(receiver, std::max(workers_[receiver].now, sender.now));
    }
  }

  void hold(Worker& sender, std::int64_t start, const FlowLink& link, int boundary) const {
    if (execution_.held.empty()) return;
    const double part = execution_.held[static_cast<std::size_t>(boundary)];
    if (part <= 0) return;
    const auto held = static_cast<std::int64_t>(part * static_cast<double>(link.occupancy));
    sender.now = std::max(sender.now, start + held);
  }

  void finish_stages() {
    for (std::size_t stage = 0; stage < timing_.passes.size(); ++stage) {
      Nanoseconds done{};
      for (std::size_t r = 0; r < timing_.passes[stage].size(); ++r) {
        const Worker& worker = worker_of(stage, r);
        SAILOR_CHECK(worker.next == operations(worker).size(), "stage {} replica {} waits for ever at operation {}",
                     stage, r, worker.next);
        done = std::max(done, Nanoseconds(worker.now));
      }
      timing_.passes_done.push_back(done);
      timing_.synced.push_back(execution_.all_reduce.empty() ? done : reduced(stage, execution_.all_reduce[stage]));
    }
    if (execution_.tied > Nanoseconds(0)) {
      const Nanoseconds both = std::max(timing_.synced.front(), timing_.synced.back()) + execution_.tied;
      timing_.synced.front() = timing_.synced.back() = both;
    }
    for (std::size_t stage = 0; stage < timing_.passes.size(); ++stage) {
      Nanoseconds updated = timing_.synced[stage];
      if (!execution_.update.empty()) updated += execution_.update[stage];
      if (!execution_.gather.empty()) updated += execution_.gather[stage];
      timing_.updated.push_back(updated);
    }
  }

  // Returns when the all-reduce is done. Each bucket starts when the last backward passes of all replicas have left its
  // layers behind.
  Nanoseconds reduced(std::size_t stage, Nanoseconds all_reduce) const {
    const int buckets = execution_.buckets.empty() ? 1 : execution_.buckets[stage];
    Nanoseconds end{};
    for (int bucket = 1; bucket <= buckets; ++bucket) {
      for (std::size_t r = 0; r < timing_.passes[stage].size(); ++r) {
        const Nanoseconds behind = times_.replicas[stage][r].backward * (buckets - bucket) / buckets;
        end = std::max(end, Nanoseconds(worker_of(stage, r).now) - behind);
      }
      end += all_reduce / buckets;
    }
    return end;
  }

  const Schedule& schedule_;
  const ScheduleTimes& times_;
  const Execution& execution_;
  StepTiming timing_;
  StepFlow flow_;
  StepTraffic traffic_;
  std::vector<Worker> workers_;  // the workers of all stages, in order
  std::vector<char> is_waiting_;
  std::vector<std::int64_t> activations_;  // arrival by stage and microbatch, in ns
  std::vector<std::int64_t> gradients_;
  NextEvents turns_;
};

}  // namespace

Nanoseconds StepTiming::passes_end() const { return std::ranges::max(passes_done); }
Nanoseconds StepTiming::end() const { return std::ranges::max(updated); }

StepTiming time_step(const Schedule& schedule, const ScheduleTimes& times, const Execution& execution) {
  return StepSimulation(schedule, times, execution).run();
}

}  // namespace sailor
