#include "simulator/step_timing.h"

#include <algorithm>

#include "core/model/check.h"
#include "core/schedule/next_events.h"

namespace sailor {
namespace {

constexpr Nanoseconds kNever = Nanoseconds::max();

struct Worker {
  int stage = 0;
  int index = 0;
  std::size_t next = 0;  // operation
  Nanoseconds now{};
};

// The queues for sending and receiving, of a replica or of a NIC that replicas share.
struct Port {
  Nanoseconds out_free{};
  Nanoseconds in_free{};
};

std::size_t replicas_of(const Schedule& schedule) {
  std::size_t replicas = 0;
  for (const auto& stage : schedule.replicas) replicas += stage.size();
  return replicas;
}

class StepSimulation {
 public:
  StepSimulation(const Schedule& schedule, const ScheduleTimes& times, const Execution& execution)
      : schedule_(schedule), times_(times), execution_(execution), turns_(replicas_of(schedule)) {
    const std::size_t stages = schedule.replicas.size();
    microbatches_ = schedule.routes.front().size();
    const std::size_t inputs = stages * microbatches_;
    for (auto* table : {&activations_, &gradients_}) table->assign(inputs, kNever);
    for (std::size_t stage = 0; stage < stages; ++stage) {
      first_of_stage_.push_back(workers_.size());
      timing_.passes.emplace_back(schedule.replicas[stage].size());
      for (std::size_t r = 0; r < schedule.replicas[stage].size(); ++r) {
        timing_.passes[stage][r].reserve(2 * schedule.replicas[stage][r].microbatches.size());
        workers_.push_back({.stage = static_cast<int>(stage), .index = static_cast<int>(r)});
      }
    }
    set_nics();
    is_waiting_.assign(workers_.size(), 0);
    timing_.messages.reserve(2 * (stages - 1) * microbatches_);
  }

  StepTiming run() {
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) turns_.set(worker, 0);
    while (turns_.earliest() != NextEvents::kNever) take_turn(turns_.first());
    finish_stages();
    return std::move(timing_);
  }

 private:
  void set_nics() {
    int last = ReplicaTimes::kNoNic;
    for (const auto& stage : times_.replicas) {
      for (const ReplicaTimes& replica : stage) last = std::max(last, replica.nic);
    }
    nics_.resize(static_cast<std::size_t>(last + 1));
    ports_.resize(workers_.size());
  }

  const std::vector<Operation>& operations(const Worker& worker) const {
    return schedule_.replicas[static_cast<std::size_t>(worker.stage)][static_cast<std::size_t>(worker.index)]
        .operations;
  }
  const ReplicaTimes& times_of(const Worker& worker) const {
    return times_.replicas[static_cast<std::size_t>(worker.stage)][static_cast<std::size_t>(worker.index)];
  }
  std::size_t slot(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
  }
  Port& port(const Worker& worker) { return ports_[static_cast<std::size_t>(&worker - workers_.data())]; }
  bool is_last(const Worker& worker) const { return worker.stage + 1 == std::ssize(schedule_.replicas); }

  // Executes operations until another replica must go first. Only transfers must be in the order of time, because they
  // take their places in the queues of the NICs.
  void take_turn(std::size_t id) {
    Worker& worker = workers_[id];
    const auto& list = operations(worker);
    for (; worker.next < list.size(); ++worker.next) {
      const Operation& operation = list[worker.next];
      if (!has_input(worker, operation)) {
        is_waiting_[id] = 1;
        turns_.set(id, NextEvents::kNever);
        return;
      }
      if (operation.kind == OperationKind::kForward || operation.kind == OperationKind::kBackward) {
        compute(worker, operation);
      } else if (operation.kind == OperationKind::kSendActivation || operation.kind == OperationKind::kSendGradient) {
        turns_.set(id, worker.now.count());
        if (turns_.first() != id) return;
        send(worker, operation);
      }
    }
    turns_.set(id, NextEvents::kNever);
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
    Nanoseconds arrival{};
    if (forward && worker.stage > 0) arrival = activations_[slot(worker.stage, operation.microbatch)];
    if (backward && !is_last(worker)) arrival = gradients_[slot(worker.stage, operation.microbatch)];
    if (arrival == kNever) return false;
    worker.now = std::max(worker.now, arrival);
    return true;
  }

  void compute(Worker& worker, const Operation& operation) {
    const ReplicaTimes& times = times_of(worker);
    const Nanoseconds start = worker.now;
    worker.now += operation.kind == OperationKind::kForward ? times.forward : times.backward;
    timing_.passes[static_cast<std::size_t>(worker.stage)][static_cast<std::size_t>(worker.index)].push_back(
        {operation.kind, operation.microbatch, start, worker.now});
  }

  void send(Worker& sender, const Operation& operation) {
    const bool down = operation.kind == OperationKind::kSendActivation;
    const int to_stage = down ? sender.stage + 1 : sender.stage - 1;
    const std::size_t id =
        first_of_stage_[static_cast<std::size_t>(to_stage)] + static_cast<std::size_t>(operation.peer);
    Worker& receiver = workers_[id];
    const int boundary = std::min(sender.stage, to_stage);
    const ReplicaTimes& upper = times_of(down ? sender : receiver);
    const ReplicaTimes& lower = times_of(down ? receiver : sender);
    const LinkTimes& link = times_.link(boundary, upper.link_class, lower.link_class);
    const Nanoseconds start = std::max(sender.now, port(sender).out_free);
    port(sender).out_free = start + link.occupancy;
    Nanoseconds passed = start;
    if (const int nic = times_of(sender).nic; nic != ReplicaTimes::kNoNic) {
      Port& out = nics_[static_cast<std::size_t>(nic)];
      passed = std::max(passed, out.out_free);
      out.out_free = passed + link.nic;
    }
    if (const int nic = times_of(receiver).nic; nic != ReplicaTimes::kNoNic) {
      Port& in = nics_[static_cast<std::size_t>(nic)];
      passed = std::max(passed, in.in_free);
      in.in_free = passed + link.nic;
    }
    port(receiver).in_free = std::max(passed, port(receiver).in_free) + link.occupancy;
    const Nanoseconds arrival = port(receiver).in_free + link.latency;
    (down ? activations_ : gradients_)[slot(to_stage, operation.microbatch)] = arrival;
    timing_.messages.push_back({!down, boundary, sender.index, receiver.index, operation.microbatch, start, arrival});
    hold(sender, start, link, boundary);
    if (is_waiting_[id] != 0) {
      is_waiting_[id] = 0;
      turns_.set(id, std::max(receiver.now, sender.now).count());
    }
  }

  void hold(Worker& sender, Nanoseconds start, const LinkTimes& link, int boundary) const {
    if (execution_.held.empty()) return;
    const double part = execution_.held[static_cast<std::size_t>(boundary)];
    if (part <= 0) return;
    const auto held = static_cast<std::int64_t>(part * static_cast<double>(link.occupancy.count()));
    sender.now = std::max(sender.now, start + Nanoseconds(held));
  }

  void finish_stages() {
    for (std::size_t stage = 0; stage < timing_.passes.size(); ++stage) {
      Nanoseconds done{};
      for (std::size_t r = 0; r < timing_.passes[stage].size(); ++r) {
        const Worker& worker = workers_[first_of_stage_[stage] + r];
        SAILOR_CHECK(worker.next == operations(worker).size(), "stage {} replica {} waits for ever at operation {}",
                     stage, r, worker.next);
        done = std::max(done, worker.now);
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
        const Worker& worker = workers_[first_of_stage_[stage] + r];
        end = std::max(end, worker.now - times_of(worker).backward * (buckets - bucket) / buckets);
      }
      end += all_reduce / buckets;
    }
    return end;
  }

  const Schedule& schedule_;
  const ScheduleTimes& times_;
  const Execution& execution_;
  StepTiming timing_;
  std::size_t microbatches_ = 0;
  std::vector<Worker> workers_;  // the workers of all stages, in order
  std::vector<Port> ports_;      // the ports of the workers
  std::vector<Port> nics_;
  std::vector<std::size_t> first_of_stage_;
  std::vector<char> is_waiting_;
  std::vector<Nanoseconds> activations_;  // arrival by stage and microbatch
  std::vector<Nanoseconds> gradients_;
  NextEvents turns_;
};

}  // namespace

Nanoseconds StepTiming::passes_end() const { return std::ranges::max(passes_done); }
Nanoseconds StepTiming::end() const { return std::ranges::max(updated); }

StepTiming time_step(const Schedule& schedule, const ScheduleTimes& times, const Execution& execution) {
  return StepSimulation(schedule, times, execution).run();
}

}  // namespace sailor
