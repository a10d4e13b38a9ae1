#include "planner/schedule/step_simulation.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>

#include "planner/model/check.h"

namespace sailor {
namespace {

using Time = std::int64_t;  // ns since the step began

enum class Direction { kDown, kUp };  // activations go down the pipeline, gradients up

// Oldest first, that is by the microbatch's index.
using Ready = std::priority_queue<int, std::vector<int>, std::greater<>>;

struct ReplicaState {
  int stage = 0;
  int index = 0;  // within the stage
  Ready forwards;
  Ready backwards;
  int in_flight = 0;
  int waiting_inputs = 0;
  int cap = 1;
  bool is_idle = true;
};

struct Channel {
  std::deque<int> queue;  // microbatches whose message waits for the link or for a buffer
  int buffers = 2;        // free ones at the receiver
  Time free_at = 0;
};

enum class EventKind { kForwardDone, kBackwardDone, kArrival, kLinkFree };

struct Event {
  Time at = 0;
  std::int64_t sequence = 0;  // of events at the same time the one that was foreseen first comes first
  EventKind kind = EventKind::kForwardDone;
  Direction direction = Direction::kDown;
  int stage = 0;  // of the replica that computed, or that sent
  int microbatch = 0;

  friend bool operator>(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.sequence > b.sequence; }
};

class StepSimulation {
 public:
  StepSimulation(const ScheduleTimes& times, const std::vector<std::vector<int>>& caps,
                 std::vector<std::vector<int>> routes)
      : times_(times) {
    schedule_.routes = std::move(routes);
    for (std::size_t stage = 0; stage < caps.size(); ++stage) add_stage(static_cast<int>(stage), caps[stage]);
  }

  Schedule run() {
    const int last_stage = static_cast<int>(schedule_.routes.size()) - 1;
    for (int mb = 0; mb < std::ssize(schedule_.routes.front()); ++mb) {
      for (int stage = 0; stage <= last_stage; ++stage) planned(stage, mb).microbatches.push_back(mb);
      state(0, mb).forwards.push(mb);
    }
    dispatch_all();
    while (!events_.empty()) {
      now_ = events_.top().at;
      while (!events_.empty() && events_.top().at == now_) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
      dispatch_touched();
    }
    schedule_.duration = Nanoseconds(now_);
    check_all_done();
    return std::move(schedule_);
  }

 private:
  void add_stage(int stage, const std::vector<int>& caps) {
    first_of_stage_.push_back(static_cast<int>(states_.size()));
    schedule_.replicas.emplace_back(caps.size());
    for (std::size_t r = 0; r < caps.size(); ++r) {
      states_.push_back(
          {.stage = stage, .index = static_cast<int>(r), .forwards = {}, .backwards = {}, .cap = caps[r]});
    }
  }

  int replica_of(int stage, int mb) const {
    return schedule_.routes[static_cast<std::size_t>(stage)][static_cast<std::size_t>(mb)];
  }
  std::size_t slot_of(int stage, int mb) const {
    return static_cast<std::size_t>(first_of_stage_[static_cast<std::size_t>(stage)] + replica_of(stage, mb));
  }
  ReplicaState& state(int stage, int mb) { return states_[slot_of(stage, mb)]; }
  const ReplicaTimes& replica_times(int stage, int replica) const {
    return times_.replicas[static_cast<std::size_t>(stage)][static_cast<std::size_t>(replica)];
  }
  ReplicaSchedule& planned(int stage, int mb) {
    return schedule_.replicas[static_cast<std::size_t>(stage)][static_cast<std::size_t>(replica_of(stage, mb))];
  }
  int stage_count() const { return static_cast<int>(schedule_.routes.size()); }

  void foresee(Time at, EventKind kind, Direction direction, int stage, int mb) {
    events_.push({at, next_sequence_++, kind, direction, stage, mb});
  }

  static int neighbour(int stage, Direction direction) { return direction == Direction::kDown ? stage + 1 : stage - 1; }

  // Both directions of a link are channels of their own.
  Channel& channel(int from_stage, int mb, Direction direction) {
    const std::uint64_t from = slot_of(from_stage, mb);
    const std::uint64_t to = slot_of(neighbour(from_stage, direction), mb);
    const auto [found, is_new] = channels_.try_emplace(from << 32U | to);
    if (is_new) found->second.buffers = buffers_for(from_stage, mb, direction);
    return found->second;
  }

  const LinkTimes& link(int from_stage, int mb, Direction direction) const {
    const int upper = direction == Direction::kDown ? from_stage : from_stage - 1;
    const int from_site = replica_times(upper, replica_of(upper, mb)).site;
    const int to_site = replica_times(upper + 1, replica_of(upper + 1, mb)).site;
    return times_.link(upper, from_site, to_site);
  }

  // Two, and as many more as messages are on their way while the receiver works on one.
  int buffers_for(int from_stage, int mb, Direction direction) const {
    const int to_stage = neighbour(from_stage, direction);
    const ReplicaTimes& receiver = replica_times(to_stage, replica_of(to_stage, mb));
    const LinkTimes& way = link(from_stage, mb, direction);
    const Time pass = std::max<Time>(1, (receiver.forward + receiver.backward).count());
    const Time travelling = (way.latency + way.occupancy).count() / pass;
    return 2 + static_cast<int>(std::min<Time>(travelling, std::ssize(schedule_.routes.front())));
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::kForwardDone:
        return finish_forward(event.stage, event.microbatch);
      case EventKind::kBackwardDone:
        return finish_backward(event.stage, event.microbatch);
      case EventKind::kArrival:
        return arrive(event.stage, event.microbatch, event.direction);
      case EventKind::kLinkFree:
        return start_transfers(event.stage, event.microbatch, event.direction);
    }
  }

  void finish_forward(int stage, int mb) {
    release(stage, mb);
    if (stage + 1 < stage_count()) {
      send(stage, mb, Direction::kDown);
    } else {
      state(stage, mb).backwards.push(mb);
    }
  }

  void finish_backward(int stage, int mb) {
    --state(stage, mb).in_flight;
    release(stage, mb);
    if (stage > 0) send(stage, mb, Direction::kUp);
  }

  void release(int stage, int mb) {
    state(stage, mb).is_idle = true;
    touched_.push_back(slot_of(stage, mb));
  }

  void arrive(int from_stage, int mb, Direction direction) {
    const int to_stage = neighbour(from_stage, direction);
    ReplicaState& receiver = state(to_stage, mb);
    (direction == Direction::kDown ? receiver.forwards : receiver.backwards).push(mb);
    touched_.push_back(slot_of(to_stage, mb));
  }

  void send(int stage, int mb, Direction direction) {
    channel(stage, mb, direction).queue.push_back(mb);
    start_transfers(stage, mb, direction);
  }

  // `mb` names the channel: any microbatch that takes it does.
  void start_transfers(int stage, int mb, Direction direction) {
    Channel& way = channel(stage, mb, direction);
    if (way.queue.empty() || way.buffers == 0 || way.free_at > now_) return;
    const int sent = way.queue.front();
    way.queue.pop_front();
    --way.buffers;
    const LinkTimes& cost = link(stage, sent, direction);
    way.free_at = now_ + cost.occupancy.count();
    foresee(way.free_at + cost.latency.count(), EventKind::kArrival, direction, stage, sent);
    foresee(way.free_at, EventKind::kLinkFree, direction, stage, sent);
    record_transfer(stage, sent, direction);
  }

  void record_transfer(int stage, int mb, Direction direction) {
    const bool down = direction == Direction::kDown;
    const int to_stage = neighbour(stage, direction);
    planned(stage, mb).operations.push_back(
        {down ? OperationKind::kSendActivation : OperationKind::kSendGradient, mb, replica_of(to_stage, mb)});
    ReplicaSchedule& receiver = planned(to_stage, mb);
    receiver.operations.push_back(
        {down ? OperationKind::kReceiveActivation : OperationKind::kReceiveGradient, mb, replica_of(stage, mb)});
    receiver.max_waiting_inputs = std::max(receiver.max_waiting_inputs, ++state(to_stage, mb).waiting_inputs);
  }

  void dispatch_all() {
    for (auto& state : states_) dispatch(state);
  }

  // Only replicas that something happened to can have become able to work.
  void dispatch_touched() {
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    std::vector<std::size_t> slots;
    slots.swap(touched_);
    for (const std::size_t slot : slots) dispatch(states_[slot]);
  }

  void dispatch(ReplicaState& replica) {
    if (!replica.is_idle) return;
    if (!replica.backwards.empty()) {
      start_pass(replica, replica.backwards, OperationKind::kBackward);
    } else if (!replica.forwards.empty() && replica.in_flight < replica.cap) {
      start_pass(replica, replica.forwards, OperationKind::kForward);
    }
  }

  void start_pass(ReplicaState& replica, Ready& ready, OperationKind kind) {
    const int mb = ready.top();
    ready.pop();
    replica.is_idle = false;
    const bool is_forward = kind == OperationKind::kForward;
    ReplicaSchedule& list = planned(replica.stage, mb);
    list.operations.push_back({kind, mb, -1});
    if (is_forward) list.max_in_flight = std::max(list.max_in_flight, ++replica.in_flight);
    const ReplicaTimes& cost = replica_times(replica.stage, replica.index);
    foresee(now_ + (is_forward ? cost.forward : cost.backward).count(),
            is_forward ? EventKind::kForwardDone : EventKind::kBackwardDone, Direction::kDown, replica.stage, mb);
    consume_input(replica, mb, is_forward ? Direction::kDown : Direction::kUp);
  }

  // The pass takes its input over: the buffer is free for the next message of that link.
  void consume_input(ReplicaState& replica, int mb, Direction direction) {
    const int from_stage = direction == Direction::kDown ? replica.stage - 1 : replica.stage + 1;
    if (from_stage < 0 || from_stage >= stage_count()) return;
    --replica.waiting_inputs;
    ++channel(from_stage, mb, direction).buffers;
    start_transfers(from_stage, mb, direction);
  }

  void check_all_done() const {
    for (const auto& stage : schedule_.replicas) {
      for (const ReplicaSchedule& replica : stage) {
        const auto passes = std::ranges::count_if(replica.operations, [](const Operation& operation) {
          return operation.kind == OperationKind::kForward || operation.kind == OperationKind::kBackward;
        });
        SAILOR_CHECK(passes == 2 * std::ssize(replica.microbatches), "{} passes of {} microbatches were scheduled",
                     passes, replica.microbatches.size());
      }
    }
  }

  const ScheduleTimes& times_;
  Schedule schedule_;
  std::vector<ReplicaState> states_;  // of all stages, in order
  std::vector<int> first_of_stage_;   // index into states_
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::size_t> touched_;
  std::int64_t next_sequence_ = 0;
  Time now_ = 0;
};

}  // namespace

Schedule simulate_step(const Plan& plan, const ScheduleTimes& times, const std::vector<std::vector<int>>& caps,
                       std::vector<std::vector<int>> routes) {
  SAILOR_CHECK(!plan.stages.empty() && routes.size() == plan.stages.size(), "a plan of {} stages with routes for {}",
               plan.stages.size(), routes.size());
  return StepSimulation(times, caps, std::move(routes)).run();
}

}  // namespace sailor
