#include "planner/schedule/step_simulation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "planner/model/check.h"

namespace sailor {
namespace {

using Time = std::int64_t;  // ns since the step began

constexpr Time kNever = std::numeric_limits<Time>::max();
constexpr int kNone = -1;

enum Direction { kDown = 0, kUp = 1 };  // activations go down the pipeline, gradients up

// A message, or an input that waits for its pass, in the list of a worker or of a channel.
struct Node {
  Time arrival = 0;
  int next = kNone;
  int previous = kNone;
};

// Inputs of one kind, sent and not yet consumed, by microbatch: a worker takes the oldest that has arrived.
struct Inputs {
  int first = kNone;
  int last = kNone;
};

struct WorkerState {
  Inputs inputs[2];  // by the direction in which they came: of forward passes, of backward passes
  Time busy_until = kNever;
  Time wake_at = kNever;
  int microbatch = kNone;  // of the pass that it is doing; kNone: it is idle
  Direction pass = kDown;
  int stage = 0;
  int in_flight = 0;
  int waiting_inputs = 0;

  [[nodiscard]] bool is_idle() const { return microbatch == kNone; }
};

// From one replica to another, in one direction.
struct Channel {
  int used = 0;       // buffers of the receiver
  int first = kNone;  // messages that wait for a buffer
  int last = kNone;
};

// One queue out and one in, of a replica or of the network card that replicas of a node share.
struct Port {
  Time out_free = 0;
  Time in_free = 0;
};

struct Turn {
  Time at = 0;
  int worker = 0;
  friend bool operator>(const Turn& a, const Turn& b) { return a.at != b.at ? a.at > b.at : a.worker > b.worker; }
};

class StepSimulation {
 public:
  // `lists` is null where only the length of the step is asked for.
  StepSimulation(const StepFlow& flow, Schedule* lists)
      : flow_(flow),
        lists_(lists),
        stages_(flow.stages()),
        slots_(static_cast<std::size_t>(stages_) * static_cast<std::size_t>(flow.microbatches)),
        workers_(flow.workers.size()),
        ports_(flow.workers.size()),
        cards_(static_cast<std::size_t>(flow.cards)),
        nodes_(std::make_unique_for_overwrite<Node[]>(2 * slots_)) {
    std::size_t channels = 0;
    first_channel_.reserve(static_cast<std::size_t>(stages_));
    for (int stage = 0; stage < stages_; ++stage) {
      for (int w = first(stage); w < first(stage + 1); ++w) workers_[index(w)].stage = stage;
      first_channel_.push_back(channels);
      if (stage + 1 < stages_) channels += width(stage) * width(stage + 1);
    }
    channels_.resize(2 * channels);
    turns_.reserve(2 * workers_.size());
    touched_.reserve(workers_.size());
  }

  Time run() {
    for (int mb = 0; mb < flow_.microbatches; ++mb) {
      if (lists_ != nullptr) list_microbatch(mb);
      add_input(worker_of(0, mb), kDown, 0, mb, 0);
    }
    for (int w = first(0); w < first(1); ++w) dispatch(w);
    while (!turns_.empty()) {
      now_ = turns_.front().at;
      touched_.clear();
      while (!turns_.empty() && turns_.front().at == now_) take_turn();
      for (const int w : touched_) dispatch(w);
    }
    check_all_done();
    return end_;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int first(int stage) const { return flow_.first_worker[index(stage)]; }
  [[nodiscard]] std::size_t width(int stage) const { return index(first(stage + 1) - first(stage)); }
  [[nodiscard]] std::size_t slot(int stage, int mb) const {
    return index(stage) * index(flow_.microbatches) + index(mb);
  }
  [[nodiscard]] int replica_of(int stage, int mb) const { return flow_.routes[slot(stage, mb)]; }
  [[nodiscard]] int worker_of(int stage, int mb) const { return first(stage) + replica_of(stage, mb); }
  // The message that brings, or brought, this microbatch to this stage.
  [[nodiscard]] int node_of(Direction direction, int stage, int mb) const {
    return static_cast<int>(slot(stage, mb) + (direction == kUp ? slots_ : 0));
  }
  [[nodiscard]] int microbatch_of(int node) const {
    return static_cast<int>((index(node) % slots_) % index(flow_.microbatches));
  }
  static int neighbour(int stage, Direction direction) { return direction == kDown ? stage + 1 : stage - 1; }

  // A worker's pass ends, or it may begin one. What it was woken for may have been done meanwhile.
  void take_turn() {
    const int w = turns_.front().worker;
    std::ranges::pop_heap(turns_, std::greater<>());
    turns_.pop_back();
    WorkerState& worker = workers_[index(w)];
    if (!worker.is_idle() && worker.busy_until == now_) finish_pass(worker);
    if (!worker.is_idle()) return;
    worker.wake_at = kNever;
    touched_.push_back(w);
  }

  void add_turn(Time at, int worker) {
    turns_.push_back({at, worker});
    std::ranges::push_heap(turns_, std::greater<>());
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
      add_input(worker_of(worker.stage, mb), kUp, worker.stage, mb, now_);
    }
  }

  // Most messages come in the order of their microbatches, so the place is found from the end.
  void add_input(int w, Direction direction, int stage, int mb, Time arrival) {
    Inputs& inputs = workers_[index(w)].inputs[direction];
    const int added = node_of(direction, stage, mb);
    int after = inputs.last;
    while (after > added) after = nodes_[index(after)].previous;
    const int before = after == kNone ? inputs.first : nodes_[index(after)].next;
    nodes_[index(added)] = {arrival, before, after};
    (after == kNone ? inputs.first : nodes_[index(after)].next) = added;
    (before == kNone ? inputs.last : nodes_[index(before)].previous) = added;
  }

  void remove_input(Inputs& inputs, int node) {
    const Node& removed = nodes_[index(node)];
    (removed.previous == kNone ? inputs.first : nodes_[index(removed.previous)].next) = removed.next;
    (removed.next == kNone ? inputs.last : nodes_[index(removed.next)].previous) = removed.previous;
  }

  // Only replicas that something happened to can have become able to work.
  void dispatch(int w) {
    WorkerState& worker = workers_[index(w)];
    if (!worker.is_idle()) return;
    Time next = kNever;
    if (start_oldest(w, kUp, next)) return;
    if (worker.in_flight < flow_.workers[index(w)].cap && start_oldest(w, kDown, next)) return;
    if (next < worker.wake_at) {
      worker.wake_at = next;
      add_turn(next, w);
    }
  }

  // Starts the oldest pass whose input has arrived; else says when the next input arrives.
  bool start_oldest(int w, Direction pass, Time& next) {
    WorkerState& worker = workers_[index(w)];
    for (int node = worker.inputs[pass].first; node != kNone; node = nodes_[index(node)].next) {
      if (nodes_[index(node)].arrival <= now_) {
        remove_input(worker.inputs[pass], node);
        start_pass(w, microbatch_of(node), pass);
        return true;
      }
      next = std::min(next, nodes_[index(node)].arrival);
    }
    return false;
  }

  void start_pass(int w, int mb, Direction pass) {
    WorkerState& worker = workers_[index(w)];
    worker.microbatch = mb;
    worker.pass = pass;
    const FlowWorker& cost = flow_.workers[index(w)];
    worker.busy_until = now_ + (pass == kDown ? cost.forward : cost.backward);
    add_turn(worker.busy_until, w);
    if (pass == kDown) ++worker.in_flight;
    if (lists_ != nullptr) list_pass(worker, mb);
    release_buffer(worker, mb);
  }

  Channel& channel(int from_stage, int mb, Direction direction) {
    const int upper = direction == kDown ? from_stage : from_stage - 1;
    const std::size_t pair = first_channel_[index(upper)] + index(replica_of(upper, mb)) * width(upper + 1) +
                             index(replica_of(upper + 1, mb));
    return channels_[2 * pair + static_cast<std::size_t>(direction)];
  }

  [[nodiscard]] const FlowLink& link(int from_stage, int mb, Direction direction) const {
    const int upper = direction == kDown ? from_stage : from_stage - 1;
    const FlowBoundary& boundary = flow_.boundaries[index(upper)];
    const int above = flow_.workers[index(worker_of(upper, mb))].site;
    const int below = flow_.workers[index(worker_of(upper + 1, mb))].site;
    return flow_.links[index(boundary.first_link + above * boundary.sites_below + below)];
  }

  // Two, and as many more as messages are on their way while the receiver works on one.
  [[nodiscard]] bool has_buffer(const Channel& way, int from_stage, int mb, Direction direction) const {
    if (way.used < 2) return true;
    const FlowWorker& receiver = flow_.workers[index(worker_of(neighbour(from_stage, direction), mb))];
    const FlowLink& cost = link(from_stage, mb, direction);
    const Time pass = std::max<Time>(1, receiver.forward + receiver.backward);
    return way.used - 2 < (cost.latency + cost.occupancy) / pass;
  }

  void send(int stage, int mb, Direction direction) {
    Channel& way = channel(stage, mb, direction);
    if (way.first == kNone && has_buffer(way, stage, mb, direction)) return transfer(way, stage, mb, direction);
    const int node = node_of(direction, neighbour(stage, direction), mb);
    nodes_[index(node)] = {};
    (way.first == kNone ? way.first : nodes_[index(way.last)].next) = node;
    way.last = node;
  }

  // A message takes its turn at its sender, at both nodes' cards and at its receiver; what waits for a later one of
  // them waits in the network and holds up nobody behind it.
  void transfer(Channel& way, int stage, int mb, Direction direction) {
    ++way.used;
    const int to_stage = neighbour(stage, direction);
    const int from = worker_of(stage, mb);
    const int to = worker_of(to_stage, mb);
    const FlowLink& cost = link(stage, mb, direction);
    const FlowWorker& sender = flow_.workers[index(from)];
    const FlowWorker& receiver = flow_.workers[index(to)];
    Time start = std::max(now_, ports_[index(from)].out_free);
    ports_[index(from)].out_free = start + cost.occupancy;
    if (sender.card != FlowWorker::kNoCard) {
      Port& out = cards_[index(sender.card)];
      start = std::max(start, out.out_free);
      out.out_free = start + cost.card;
    }
    if (receiver.card != FlowWorker::kNoCard) {
      Port& in = cards_[index(receiver.card)];
      start = std::max(start, in.in_free);
      in.in_free = start + cost.card;
    }
    Time& in_free = ports_[index(to)].in_free;
    in_free = std::max(start, in_free) + cost.occupancy;
    const Time arrival = in_free + cost.latency;
    if (lists_ != nullptr) list_transfer(stage, mb, direction);
    add_input(to, direction, to_stage, mb, arrival);
    WorkerState& woken = workers_[index(to)];
    const bool is_wanted = direction == kUp || woken.in_flight < flow_.workers[index(to)].cap;
    if (!woken.is_idle() || !is_wanted || arrival >= woken.wake_at) return;
    woken.wake_at = arrival;
    add_turn(arrival, to);
  }

  // The pass takes its input over: the buffer is free for the next message of that link.
  void release_buffer(WorkerState& worker, int mb) {
    const int from_stage = worker.pass == kDown ? worker.stage - 1 : worker.stage + 1;
    if (from_stage < 0 || from_stage >= stages_) return;
    --worker.waiting_inputs;
    Channel& way = channel(from_stage, mb, worker.pass);
    --way.used;
    if (way.first == kNone) return;
    const int sent = microbatch_of(way.first);
    way.first = nodes_[index(way.first)].next;
    transfer(way, from_stage, sent, worker.pass);
  }

  ReplicaSchedule& list_of(int stage, int mb) { return lists_->replicas[index(stage)][index(replica_of(stage, mb))]; }

  void list_microbatch(int mb) {
    for (int stage = 0; stage < stages_; ++stage) list_of(stage, mb).microbatches.push_back(mb);
  }

  void list_pass(const WorkerState& worker, int mb) {
    ReplicaSchedule& list = list_of(worker.stage, mb);
    const bool is_forward = worker.pass == kDown;
    list.operations.push_back({is_forward ? OperationKind::kForward : OperationKind::kBackward, mb, -1});
    list.max_in_flight = std::max(list.max_in_flight, worker.in_flight);
  }

  void list_transfer(int stage, int mb, Direction direction) {
    const bool down = direction == kDown;
    const int to_stage = neighbour(stage, direction);
    list_of(stage, mb).operations.push_back(
        {down ? OperationKind::kSendActivation : OperationKind::kSendGradient, mb, replica_of(to_stage, mb)});
    ReplicaSchedule& receiver = list_of(to_stage, mb);
    receiver.operations.push_back(
        {down ? OperationKind::kReceiveActivation : OperationKind::kReceiveGradient, mb, replica_of(stage, mb)});
    int& waiting = workers_[index(worker_of(to_stage, mb))].waiting_inputs;
    receiver.max_waiting_inputs = std::max(receiver.max_waiting_inputs, ++waiting);
  }

  void check_all_done() const {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const WorkerState& worker = workers_[w];
      const bool is_done = worker.in_flight == 0 && worker.inputs[kDown].first == kNone;
      SAILOR_CHECK(is_done, "worker {} of stage {} waits for ever with {} microbatches in flight", w, worker.stage,
                   worker.in_flight);
    }
  }

  const StepFlow& flow_;
  Schedule* lists_;
  int stages_;
  std::size_t slots_;  // stages x microbatches
  std::vector<WorkerState> workers_;
  std::vector<Port> ports_;  // of the workers
  std::vector<Port> cards_;
  std::unique_ptr<Node[]> nodes_;           // [direction][stage][microbatch]; written before they are read
  std::vector<std::size_t> first_channel_;  // of every boundary
  std::vector<Channel> channels_;           // two for every pair of replicas of neighbouring stages
  std::vector<Turn> turns_;                 // a heap
  std::vector<int> touched_;
  Time now_ = 0;
  Time end_ = 0;
};

StepFlow flow_of(const Plan& plan, const ScheduleTimes& times, const std::vector<std::vector<int>>& caps,
                 const std::vector<std::vector<int>>& routes) {
  StepFlow flow{.microbatches = plan.microbatches()};
  for (std::size_t stage = 0; stage < caps.size(); ++stage) {
    flow.first_worker.push_back(static_cast<int>(flow.workers.size()));
    for (std::size_t r = 0; r < caps[stage].size(); ++r) {
      const ReplicaTimes& replica = times.replicas[stage][r];
      flow.workers.push_back(
          {replica.forward.count(), replica.backward.count(), caps[stage][r], replica.site, replica.card});
      flow.cards = std::max(flow.cards, replica.card + 1);
    }
    flow.routes.insert(flow.routes.end(), routes[stage].begin(), routes[stage].end());
    if (stage + 1 == caps.size()) continue;
    flow.boundaries.push_back({static_cast<int>(flow.links.size()), times.sites});
    for (const LinkTimes& link : times.links[stage])
      flow.links.push_back({link.latency.count(), link.occupancy.count(), link.card.count()});
  }
  flow.first_worker.push_back(static_cast<int>(flow.workers.size()));
  return flow;
}

}  // namespace

std::int64_t step_length(const StepFlow& flow) { return StepSimulation(flow, nullptr).run(); }

Schedule simulate_step(const Plan& plan, const ScheduleTimes& times, const std::vector<std::vector<int>>& caps,
                       std::vector<std::vector<int>> routes) {
  SAILOR_CHECK(!plan.stages.empty() && routes.size() == plan.stages.size(), "a plan of {} stages with routes for {}",
               plan.stages.size(), routes.size());
  const StepFlow flow = flow_of(plan, times, caps, routes);
  Schedule schedule;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const int neighbours = (stage > 0 ? 1 : 0) + (stage + 1 < plan.stages.size() ? 1 : 0);
    auto& replicas = schedule.replicas.emplace_back(plan.stages[stage].replicas.size());
    for (std::size_t r = 0; r < replicas.size(); ++r) {
      const auto share = static_cast<std::size_t>(plan.stages[stage].replicas[r].microbatches);
      replicas[r].microbatches.reserve(share);
      replicas[r].operations.reserve(share * static_cast<std::size_t>(2 + 2 * neighbours));
    }
  }
  schedule.duration = Nanoseconds(StepSimulation(flow, &schedule).run());
  schedule.routes = std::move(routes);
  return schedule;
}

}  // namespace sailor
