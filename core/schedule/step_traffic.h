// StepTraffic: the messages between replicas of neighbouring stages. It keeps the queues at senders, NICs and
// receivers, and the receivers' buffers. Those who make a schedule and those who time one both send their messages
// through it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <tuple>
#include <utility>
#include <vector>

#include "core/schedule/message_lists.h"
#include "core/schedule/step_flow.h"

namespace sailor {

class StepTraffic {
 public:
  enum Direction { kDown = 0, kUp = 1 };  // activations go down the pipeline, gradients up

  // The messages from one replica to another, in one direction.
  struct Channel {
    int used = 0;                // buffers of the receiver that are in use
    MessageLists::List waiting;  // messages that wait for a buffer
  };

  // A message's path from one stage to the next or the one before.
  struct Path {
    int from = 0;  // index of the sending worker
    int to = 0;    // index of the receiving worker
    int from_stage = 0;
    int to_stage = 0;
    Direction direction = kDown;
    const FlowLink* link = nullptr;
    Channel* channel = nullptr;
  };

  // `flow` must outlive this object.
  explicit StepTraffic(const StepFlow& flow, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : flow_(flow),
        ends_(flow.workers.size(), memory),
        nics_(static_cast<std::size_t>(flow.nics), memory),
        first_channel_(memory),
        channels_(memory) {
    std::size_t channels = 0;
    first_channel_.reserve(static_cast<std::size_t>(flow.stages()));
    for (int stage = 0; stage < flow.stages(); ++stage) {
      first_channel_.push_back(channels);
      if (stage + 1 < flow.stages()) channels += flow.width(stage) * flow.width(stage + 1);
    }
    channels_.resize(2 * channels);
  }

  [[nodiscard]] Path path_of(int from_stage, int microbatch, Direction direction) {
    const int upper = direction == kDown ? from_stage : from_stage - 1;
    const int above = flow_.replica_of(upper, microbatch);
    const int below = flow_.replica_of(upper + 1, microbatch);
    const int upper_worker = flow_.first(upper) + above;
    const int lower_worker = flow_.first(upper + 1) + below;
    const FlowBoundary& boundary = flow_.boundaries[index(upper)];
    const int link = boundary.first_link + flow_.workers[index(upper_worker)].link_class * boundary.link_classes_below +
                     flow_.workers[index(lower_worker)].link_class;
    const std::size_t pair = first_channel_[index(upper)] + index(above) * flow_.width(upper + 1) + index(below);
    Path path{.from_stage = from_stage,
              .to_stage = direction == kDown ? upper + 1 : upper,
              .direction = direction,
              .link = &flow_.links[index(link)],
              .channel = &channels_[2 * pair + static_cast<std::size_t>(direction)]};
    std::tie(path.from, path.to) =
        direction == kDown ? std::pair(upper_worker, lower_worker) : std::pair(lower_worker, upper_worker);
    return path;
  }

  // When a message begins to leave its sender, and when it arrives, in ns since the start of the step.
  struct Passage {
    std::int64_t start = 0;
    std::int64_t arrival = 0;
  };

  // Returns whether the receiver has a free buffer. It has two, and one more for every message that can be in transit
  // while the receiver processes one microbatch.
  [[nodiscard]] bool has_buffer(const Path& path) const {
    if (path.channel->used < 2) return true;
    const FlowWorker& receiver = flow_.workers[index(path.to)];
    const std::int64_t pass = std::max<std::int64_t>(1, receiver.forward + receiver.backward);
    return path.channel->used - 2 < (path.link->latency + path.link->occupancy) / pass;
  }

  // Sends a message at `now`. It queues at its sender, at the NICs of both nodes and at its receiver, in this order.
  // While it waits in a later queue it does not block messages behind it in an earlier one. Buffers stay as they are.
  Passage carry(const Path& path, std::int64_t now) {
    Queues& receiver = ends_[index(path.to)];
    const FlowLink& cost = *path.link;
    const std::int64_t start = occupy(ends_[index(path.from)].out_free, now, cost.occupancy);
    std::int64_t passed = start;
    if (Queues* nic = nic_of(path.from)) passed = occupy(nic->out_free, passed, cost.nic);
    if (Queues* nic = nic_of(path.to)) passed = occupy(nic->in_free, passed, cost.nic);
    receiver.in_free = std::max(passed, receiver.in_free) + cost.occupancy;
    return {start, receiver.in_free + cost.latency};
  }

 private:
  // When the queues of a worker, or of a NIC that replicas share, are free: one for sending, one for receiving.
  struct Queues {
    std::int64_t out_free = 0;
    std::int64_t in_free = 0;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  [[nodiscard]] Queues* nic_of(int worker) {
    const int nic = flow_.workers[index(worker)].nic;
    return nic == FlowWorker::kNoNic ? nullptr : &nics_[index(nic)];
  }

  // Returns when a message that is ready at `ready` starts, and occupies the queue for `length` from then on.
  static std::int64_t occupy(std::int64_t& free, std::int64_t ready, std::int64_t length) {
    const std::int64_t start = std::max(ready, free);
    free = start + length;
    return start;
  }

  const StepFlow& flow_;
  std::pmr::vector<Queues> ends_;  // one entry per worker
  std::pmr::vector<Queues> nics_;
  std::pmr::vector<std::size_t> first_channel_;  // index of every boundary's first pair of replicas
  std::pmr::vector<Channel> channels_;           // two for every pair of replicas of neighbouring stages
};

}  // namespace sailor
