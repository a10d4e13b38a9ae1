#include "core/schedule/step_simulation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <utility>

#include "core/model/check.h"
#include "core/schedule/message_lists.h"
#include "core/schedule/next_events.h"
#include "core/schedule/step_flow.h"
#include "core/schedule/step_recorder.h"
#include "core/schedule/step_traffic.h"

namespace sailor {
namespace {

using Time = std::int64_t;  // ns since the start of the step

using Direction = StepTraffic::Direction;
using enum StepTraffic::Direction;

constexpr Time kNever = NextEvents::kNever;
constexpr int kNone = MessageLists::kNone;

struct WorkerState {
  MessageLists::List inputs[2];  // the inputs of forward passes, then those of backward passes
  int microbatch = kNone;        // the microbatch of the pass in progress; kNone: the worker is idle
  Direction pass = kDown;
  int stage = 0;
  int in_flight = 0;

  [[nodiscard]] bool is_idle() const { return microbatch == kNone; }
};

class StepSimulation {
 public:
  // `record` is null if the caller wants the duration only.
  StepSimulation(const StepFlow& flow, std::span<const Nanoseconds> deadlines, StepRecorder* record)
      : flow_(flow),
        deadlines_(deadlines),
        record_(record),
        stages_(flow.stages()),
        slots_(flow.slot(stages_, 0)),
        workers_(flow.workers.size(), &memory_),
        traffic_(flow, &memory_),
        messages_(2 * slots_, &memory_),
        events_(flow.workers.size(), &memory_),
        touched_(&memory_),
        latest_(&memory_) {
    for (int stage = 0; stage < stages_; ++stage) {
      for (int w = flow.first(stage); w < flow.first(stage + 1); ++w) workers_[index(w)].stage = stage;
    }
    touched_.reserve(workers_.size());
    if (!deadlines.empty()) set_latest();
  }

  Time run() {
    for (int mb = 0; mb < flow_.microbatches; ++mb) add_input(flow_.worker_of(0, mb), kDown, 0, mb, 0);
    for (int w = flow_.first(0); w < flow_.first(1); ++w) dispatch(w);
    while (!is_too_late_ && (now_ = events_.earliest()) != kNever) {
      touched_.clear();
      while (events_.earliest() == now_) handle_event(static_cast<int>(events_.first()));
      for (const int w : touched_) dispatch(w);
    }
    if (is_too_late_) return kTooLate;
    check_all_done();
    return end_;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  // The number of the message that brings this microbatch to this stage.
  [[nodiscard]] int message_of(Direction direction, int stage, int mb) const {
    return static_cast<int>(flow_.slot(stage, mb) + (direction == kUp ? slots_ : 0));
  }
  [[nodiscard]] int microbatch_of(int message, Direction direction, int stage) const {
    return message - message_of(direction, stage, 0);
  }

  // The latest time at which each worker must start its next pass: from then on it can meet the deadline only if it is
  // never idle.
  void set_latest() {
    latest_.reserve(workers_.size());
    for (int stage = 0; stage < stages_; ++stage) {
      const Time deadline = deadlines_[index(stage)].count();
      for (int w = flow_.first(stage); w < flow_.first(stage + 1); ++w) latest_.push_back(deadline);
      for (int mb = 0; mb < flow_.microbatches; ++mb) {
        const int w = flow_.worker_of(stage, mb);
        latest_[index(w)] -= flow_.workers[index(w)].forward + flow_.workers[index(w)].backward;
      }
    }
  }

  // The event is either the end of the worker's pass or the arrival of an input.
  void handle_event(int w) {
    events_.set(index(w), kNever);
    touched_.push_back(w);
    WorkerState& worker = workers_[index(w)];
    if (!worker.is_idle()) finish_pass(worker);
  }

  void finish_pass(WorkerState& worker) {
    const int mb = std::exchange(worker.microbatch, kNone);
    end_ = now_;
    if (worker.pass == kUp) {
      --worker.in_flight;
      if (worker.stage > 0) send(worker.stage, mb, kUp);
    } else if (worker.stage + 1 < stages_) {
      send(worker.stage, mb, kDown);
    } else {
      add_input(flow_.worker_of(worker.stage, mb), kUp, worker.stage, mb, now_);
    }
  }

  void add_input(int w, Direction direction, int stage, int mb, Time arrival) {
    messages_.insert(workers_[index(w)].inputs[direction], message_of(direction, stage, mb), arrival);
  }

  // Starts a pass if the worker can. Only workers that had an event can have become able to start one.
  void dispatch(int w) {
    WorkerState& worker = workers_[index(w)];
    if (!worker.is_idle()) return;
    Time next = kNever;
    const bool is_below_cap = worker.in_flight < flow_.workers[index(w)].cap;
    const bool is_forward_first = flow_.order == PassOrder::kForwardFirst;
    if (is_forward_first && is_below_cap && start_oldest(w, kDown, next)) return;
    if (start_oldest(w, kUp, next)) return;
    if (!is_forward_first && is_below_cap && start_oldest(w, kDown, next)) return;
    if (next < events_.of(index(w))) events_.set(index(w), next);
  }

  // Starts the oldest pass whose input has arrived. Otherwise lowers `next` to the arrival of the next input.
  bool start_oldest(int w, Direction pass, Time& next) {
    WorkerState& worker = workers_[index(w)];
    for (int message = worker.inputs[pass].first; message != kNone; message = messages_.next(message)) {
      const Time arrival = messages_.arrival(message);
      if (arrival <= now_) {
        messages_.remove(worker.inputs[pass], message);
        start_pass(w, microbatch_of(message, pass, worker.stage), pass);
        return true;
      }
      next = std::min(next, arrival);
    }
    return false;
  }

  void start_pass(int w, int mb, Direction pass) {
    WorkerState& worker = workers_[index(w)];
    worker.microbatch = mb;
    worker.pass = pass;
    if (pass == kDown) ++worker.in_flight;
    const FlowWorker& cost = flow_.workers[index(w)];
    const Time length = pass == kDown ? cost.forward : cost.backward;
    events_.set(index(w), now_ + length);
    if (!latest_.empty()) {
      is_too_late_ = is_too_late_ || now_ > latest_[index(w)];
      latest_[index(w)] += length;
    }
    if (record_ != nullptr) {
      record_->pass(worker.stage, mb, pass == kDown ? OperationKind::kForward : OperationKind::kBackward);
    }
    release_buffer(worker.stage, mb, pass);
  }

  void send(int stage, int mb, Direction direction) {
    const StepTraffic::Path path = traffic_.path_of(stage, mb, direction);
    if (path.channel->waiting.first == kNone && traffic_.has_buffer(path)) return transfer(path, mb);
    messages_.append(path.channel->waiting, message_of(direction, path.to_stage, mb));
  }

  void transfer(const StepTraffic::Path& path, int mb) {
    ++path.channel->used;
    const Time arrival = traffic_.carry(path, now_).arrival;
    if (record_ != nullptr) {
      path.direction == kDown ? record_->activation(path.from_stage, mb) : record_->gradient(path.from_stage, mb);
    }
    add_input(path.to, path.direction, path.to_stage, mb, arrival);
    const WorkerState& receiver = workers_[index(path.to)];
    const bool is_wanted = path.direction == kUp || receiver.in_flight < flow_.workers[index(path.to)].cap;
    if (receiver.is_idle() && is_wanted && arrival < events_.of(index(path.to))) events_.set(index(path.to), arrival);
  }

  // The pass has consumed its input: the buffer is free for the next message over that link.
  void release_buffer(int stage, int mb, Direction direction) {
    const int from_stage = direction == kDown ? stage - 1 : stage + 1;
    if (from_stage < 0 || from_stage >= stages_) return;
    const StepTraffic::Path path = traffic_.path_of(from_stage, mb, direction);
    --path.channel->used;
    const int waiting = path.channel->waiting.first;
    if (waiting == kNone) return;
    messages_.remove(path.channel->waiting, waiting);
    transfer(path, microbatch_of(waiting, direction, stage));
  }

  void check_all_done() const {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const WorkerState& worker = workers_[w];
      const bool is_done = worker.in_flight == 0 && worker.inputs[kDown].first == kNone;
      SAILOR_CHECK(is_done, "worker {} of stage {} is deadlocked with {} microbatches in flight", w, worker.stage,
                   worker.in_flight);
    }
  }

  const StepFlow& flow_;
  std::span<const Nanoseconds> deadlines_;
  StepRecorder* record_;
  int stages_;
  std::size_t slots_;  // stages x microbatches
  // The tables of a step of a few hundred passes. Larger steps take the rest from the heap.
  std::array<std::byte, std::size_t{1} << 15> first_memory_;
  std::pmr::monotonic_buffer_resource memory_{first_memory_.data(), first_memory_.size()};
  std::pmr::vector<WorkerState> workers_;
  StepTraffic traffic_;
  MessageLists messages_;  // [direction][stage][microbatch]
  NextEvents events_;
  std::pmr::vector<int> touched_;
  std::pmr::vector<Time> latest_;  // the latest start of every worker's next pass; empty without deadlines
  bool is_too_late_ = false;
  Time now_ = 0;
  Time end_ = 0;
};

}  // namespace

std::int64_t step_duration(const StepFlow& flow, std::span<const Nanoseconds> deadlines) {
  return StepSimulation(flow, deadlines, nullptr).run();
}

Schedule simulate_step(const StepFlow& flow, const Plan& plan, std::vector<std::vector<int>> routes) {
  StepRecorder record(plan, std::move(routes));
  const std::int64_t length = StepSimulation(flow, {}, &record).run();
  return std::move(record).take(Nanoseconds(length));
}

}  // namespace sailor
